"""How many tokens a text may take, and how transcripts are cut so that they fit."""

from __future__ import annotations

import re
import unicodedata

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.gateway.local import LocalJudge
from misjudge_tools.judging.fit_context import CHARS_A_TOKEN, LEAST, Cut, cut_to_fit, tokens_of

MARKER = re.compile(r"\n\[… ([\d,]+) characters left out by misjudge …\]\n(… )?")
WORDS = st.sampled_from(
    [
        "order",
        "Cancelled",
        "[tool call]",
        "{",
        '"id":',
        "4711",
        "，",
        "订单",
        "取消",
        "👍🏽",
        "é",
        "\n",
        " ",
        "\n\n",
        "x" * 40,
    ]
)
TEXTS = st.lists(WORDS, max_size=400).map("".join) | st.text(max_size=2000)
ROOMS = st.integers(-50, 1500)
SMALL = st.booleans()


@pytest.mark.parametrize(
    ("text", "large", "small"),
    [
        ("", 0, 0),
        ("Cancel the order, please.", 3 + 1 + 1 + 1 + 1, 7),
        ("unbelievably", 2, 2),
        ("getOrderById", 4, 4),
        ("SELECT", 2, 2),
        ("2026-11-30", 10, 10),
        ('{"ok": true}', 1 + 1 + 1 + 1 + 1 + 1, 6),
        ("a\n\n\tb", 5, 5),
        ("A" * 31, 11, 11),
        ("A" * 32, 32, 32),
        ("订单取消", 5, 9),
        ("naïve", 3, 4),
        ("🙂", 4, 3),
    ],
)
def test_pieces_of_words_digits_marks_and_letters_of_other_scripts_count(text: str, large: int, small: int) -> None:
    assert (tokens_of(text), tokens_of(text, small=True)) == (large, small)


@pytest.mark.parametrize(
    ("text", "measured", "by_smollm2"),
    [
        pytest.param(
            "I have cancelled your order and refunded the full amount to your credit "
            "card. It should arrive within five business days, and you will get a confirmation "
            "by email as soon as it does. Is there anything else I can help you with "
            "today?",
            49,
            49,
            id="English",
        ),
        pytest.param(
            "您好，您的订单已经取消，全部款项将在五个工作日内退回到您的信用卡。退款到账后，我们会给您发送一封确认邮件。请问今天还有什么可以帮您的吗？",
            66,
            124,
            id="Chinese",
        ),
        pytest.param(
            "def refund(order: Order, amount: float) -> Receipt:\n    if amount > order.total:\n"
            '        raise ValueError("more than was paid")\n    receipt = gateway.pay_back(order.card_id, '
            "amount)\n    return Receipt(order_id=order.order_id, amount=amount, at=now())\n",
            73,
            73,
            id="code",
        ),
        pytest.param(
            '[tool call] modify_pending_order_items {"order_id": "#W4817420", "item_ids": '
            '["6777246137", "3453331371"], "new_item_ids": ["8018699955"], "payment_method_id": '
            '"credit_card_7815826"}\n[tool result] {"status": "pending (item modified)", '
            '"total": 204.55}',
            88,
            119,
            id="a tool call",
        ),
        pytest.param(
            "All done 🎉 your refund is on its way 💸 thank you for your patience 🙏😊 and see you soon 👋",
            31,
            32,
            id="emoji",
        ),
        pytest.param(
            "H4DhQqMEZcYniOlKqwxtzi+Q8VKzFHXWN5j5Wrscfd4/oAFiwySF5keoCWrLLI3uT7ARctM0lfZXuBl62zyd/l/AIYLjRKU"
            "GZ8gpiutMrQ5v0DGS81S1FnfYOZr7XL0ef+BBogNkxSaH6EmqC2zNLo/wUbITdNU2l/hZuht83T6fAGHCI4TlRqcIacorjO"
            "1OrxBx0jOU",
            145,
            161,
            id="base64",
        ),
        pytest.param(
            "Votre commande a été annulée et le montant total sera remboursé sur votre "
            "carte de crédit dans un délai de cinq jours ouvrés.",
            39,
            47,
            id="French",
        ),
        pytest.param(
            "고객님의 주문을 취소했으며 전액이 영업일 기준 5일 이내에 신용카드로 환불됩니다. 다른 도움이 필요하신가요?",
            68,
            127,
            id="Korean",
        ),
    ],
)
def test_the_estimate_is_near_and_mostly_above_what_tokenizers_make(text: str, measured: int, by_smollm2: int) -> None:
    """`measured` is the most of the tokenizers of GPT-4, GPT-4o, Claude 2 and DeepSeek V3."""
    assert 0.9 <= tokens_of(text) / measured < 1.5
    assert 0.8 <= tokens_of(text, small=True) / by_smollm2 < 1.3


@pytest.mark.localmodel
async def test_the_tokenizer_of_the_local_model_says_what_was_measured() -> None:
    texts = ("I have cancelled your order.", "您的订单已经取消", '{"total": 204.55}', "à la carte")
    async with LocalJudge() as local, aiohttp.ClientSession() as session:
        for text in texts:
            address = f"{local.base_url.removesuffix('/v1')}/tokenize"
            async with session.post(address, json={"content": text}) as answer:
                tokens = len((await answer.json())["tokens"])
            assert 0.9 <= tokens_of(text, small=True) / tokens < 1.5


@given(TEXTS, TEXTS, SMALL)
def test_two_texts_on_lines_of_their_own_take_no_more_together_than_apart(a: str, b: str, small: bool) -> None:
    both = tokens_of(f"{a}\n{b}", small=small)
    assert both <= tokens_of(a, small=small) + tokens_of("\n", small=small) + tokens_of(b, small=small)


@given(TEXTS, SMALL)
def test_a_tokenizer_that_reads_bytes_needs_no_more_and_no_token_is_long(text: str, small: bool) -> None:
    assert len(text) / CHARS_A_TOKEN <= tokens_of(text, small=small) <= len(text.encode())


@given(st.lists(TEXTS, min_size=1, max_size=3), ROOMS, SMALL)
def test_transcripts_fit_after_cutting_or_stay_whole(texts: list[str], room: int, small: bool) -> None:
    cuts = cut_to_fit(texts, room, small=small)
    assert len(cuts) == len(texts)
    taken = sum(tokens_of(cut.text, small=small) for cut in cuts)
    assert taken <= room or cuts == [Cut(text, 0) for text in texts]


@given(st.lists(TEXTS, min_size=1, max_size=3), ROOMS)
def test_beginning_and_end_are_kept_and_what_is_between_is_counted(texts: list[str], room: int) -> None:
    for text, cut in zip(texts, cut_to_fit(texts, room), strict=True):
        if not cut.left_out:
            assert cut.text == text
            continue
        (head, tail, goes_on) = parts(cut)
        assert text.startswith(head) and text.endswith(tail)
        assert len(text) == len(head) + cut.left_out + len(tail)
        assert head and tail
        at_line = text[len(text) - len(tail) - 1] == "\n"
        assert goes_on is not at_line, "what goes on within a line cannot pass for a line of its own"


def parts(cut: Cut) -> tuple[str, str, bool]:
    """Head, tail, and whether the tail goes on within a line. The marker is the one that says the right number."""
    for found in MARKER.finditer(cut.text):
        if found[1] == f"{cut.left_out:,}":
            return cut.text[: found.start()], cut.text[found.end() :], found[2] is not None
    raise AssertionError("no marker")


@given(st.lists(TEXTS, min_size=2, max_size=2), ROOMS)
def test_the_two_sides_are_treated_alike(texts: list[str], room: int) -> None:
    assert cut_to_fit(texts, room) == cut_to_fit(texts[::-1], room)[::-1]


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_what_fits_is_not_touched(texts: list[str]) -> None:
    room = sum(map(tokens_of, texts))
    assert cut_to_fit(texts, room) == [Cut(text, 0) for text in texts]


def lines(number: int) -> str:
    return "\n".join(f"[user] This is line {n} of the talk." for n in range(number))


def test_only_the_longer_one_is_cut_where_that_is_enough() -> None:
    short, long = lines(20), lines(400)
    room = tokens_of(short) + 1000
    kept, cut = cut_to_fit([short, long], room)
    assert kept == Cut(short, 0)
    assert 900 < tokens_of(cut.text) <= 1000, "the long one gets all that the short one does not need"


def test_two_long_ones_get_the_same_room() -> None:
    one, other = cut_to_fit([lines(300), lines(900)], 2000)
    assert 900 < tokens_of(one.text) <= 1000 and 900 < tokens_of(other.text) <= 1000
    assert 0 < one.left_out < other.left_out


def test_a_cut_is_made_at_the_ends_of_lines_and_says_how_much_is_missing() -> None:
    text = lines(400)
    (cut,) = cut_to_fit([text], 500)
    head, tail, goes_on = parts(cut)
    assert not goes_on
    assert set((head + "\n" + tail).split("\n")) <= set(text.split("\n"))
    assert f"[… {cut.left_out:,} characters left out by misjudge …]" in cut.text.split("\n")
    assert 0.8 < len(head) / len(tail) < 1.25


def test_a_text_without_lines_is_cut_between_characters_as_people_see_them() -> None:
    family, accented = "👨\u200d👩\u200d👧\u200d👦", "e\u0301"
    for unit in (family, accented, "👍🏽", "字"):
        for room in range(150, 170):
            (cut,) = cut_to_fit([unit * 600], room)
            assert room - 2 * tokens_of(unit) - 2 < tokens_of(cut.text) <= room
            head, tail, goes_on = parts(cut)
            assert goes_on
            assert head == unit * (len(head) // len(unit)) and tail == unit * (len(tail) // len(unit))
            assert not unicodedata.combining(tail[0])


def test_the_rest_of_a_line_cannot_pass_for_a_message_of_its_own() -> None:
    text = "[assistant] " + "It says [user] I am happy. " * 400
    for room in range(200, 240):
        (cut,) = cut_to_fit([text], room)
        assert not any(line.startswith("[user]") for line in cut.text.split("\n"))


def test_without_room_for_a_sensible_rest_nothing_is_cut() -> None:
    text = lines(200)
    least = next(room for room in range(2000) if cut_to_fit([text], room)[0].left_out)
    assert LEAST <= least < LEAST + 40
    short = "[user] Hello."
    assert cut_to_fit([short, text], least) == [Cut(short, 0), Cut(text, 0)]
    assert cut_to_fit([text], 0) == cut_to_fit([text], -100) == [Cut(text, 0)]
    assert cut_to_fit([], 10) == []
