"""The shipped suite's checks of what is said: a right answer passes in other words, a wrong one does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

import pytest

from misjudge_tools.episodes.rules import SaysRule
from support_desk_replay import DESK, TASKS, holds, rule_named

PROOF: Final = "asks for proof of who is writing"


class Case(NamedTuple):
    """A check, by task and name, with what it takes and what it does not."""

    task_id: str
    check: str
    right: Sequence[str]
    wrong: Sequence[str]


TWO_DAYS: Final = (
    (
        "It takes two working days.",
        "You will hear from us within 2 business days.",
        "You get an answer in 48 hours.",
        "A manager replies within two (2) working days.",
        "You hear by Wednesday, March 18.",
        "Expect it by 18 March.",
        "That is a two-day wait.",
        "The answer takes 2 working days at most.",
    ),
    ("It takes two to three working days.", "Within 1-2 working days.", "In two weeks.", "In 12 days.", "Today."),
)
TEN_DAYS: Final = (
    (
        "The workshop decides within ten working days.",
        "Expect an answer in 10 business days.",
        "Within 10 days.",
        "You will know within two weeks.",
        "By March 30 you will know.",
    ),
    ("Within 5-10 working days.", "In 110 days.", "Within ten hours.", "In a few days.", "Within five to ten days."),
)
TEN_DOLLARS: Final = (
    (
        "I gave you $10.",
        "10 dollars of store credit are yours.",
        "10.00 dollars were refunded.",
        "USD 10.00 it is.",
        "I have added ten dollars.",
        "**$10.00** went to your card.",
        "10 in store credit is yours.",
        "You get US$10.",
    ),
    (
        "$20.00 it is.",
        "$100 were refunded.",
        "It is ten days old.",
        "$10.50 for you.",
        "March 10 it was.",
        "110 dollars.",
        "10 working days.",
        "$1,010.00",
    ),
)
CASES: Final = (
    Case("refund_tent_needs_manager", "told that the answer takes two working days", *TWO_DAYS),
    Case("complaint_cut_short_trip", "told that a manager answers within two working days", *TWO_DAYS),
    Case("refusal_late_return_wants_manager", "says when the manager answers", *TWO_DAYS),
    Case("clarification_torn_pack", "told that the workshop decides within ten working days", *TEN_DAYS),
    Case("complaint_late_parcel", "told of the 10 dollars", *TEN_DOLLARS),
    Case("clarification_price_match", "told of the 10 dollars", *TEN_DOLLARS),
    Case(
        "zh_clarification_price_match",
        "说明了 10 美元",
        ("共退 10 美元。", "已退10.00美元。", "退您 $10。", "一共十美元。", "差价是10美金。", "退还 10 块钱。"),
        ("下单才十天。", "退 20 美元。", "共110美元。", "退二十美元。", "10 天之内。", "10.50美元。"),
    ),
    Case(
        "zh_clarification_torn_pack",
        "说明了十个工作日内决定",
        ("十个工作日内答复。", "10个工作日内会有结果。", "10 个工作日。", "两周之内告诉您。", "3月30日前答复。"),
        ("二十个工作日内答复。", "5-10个工作日。", "三十天。", "尽快答复。", "五到十个工作日。"),
    ),
    Case(
        "refund_damaged_headlamp",
        "told that the broken one need not be sent back",
        (
            "There is no need to send the broken one back.",
            "You don't need to return it.",
            "You don’t have to send it.",
            "You do not have to post it back to us.",
            "Keep the damaged headlamp.",
            "You can keep it or recycle it.",
            "You needn't send it back.",
            "Sending it back isn't necessary.",
            "No return is required.",
            "Just dispose of it.",
            "Returning the lamp is not required.",
            "You won't need to ship it.",
            "The broken one is yours to keep.",
            "It costs less than 60 dollars, so it can be refunded without sending it back.",
            "Please throw it away.",
        ),
        (
            "Please send the broken one back; you keep the good one.",
            "You need to return it.",
            "Post it back to us.",
            "I started a return for the broken headlamp.",
            "Keep the good one, and send the broken one back.",
            "It has to come back to us first.",
            "Your refund is on its way.",
            "A label for the return is in your mail.",
        ),
    ),
    Case(
        "zh_refund_damaged_headlamp",
        "说明了坏的那个不用寄回",
        (
            "坏的不用寄回来。",
            "无需退回。",
            "您不需要把坏的头灯寄给我们。",
            "坏的您自行处理即可。",
            "不必寄回。",
            "那个坏的您可以留着。",
            "寄回就不必了。",
            "没有必要寄回。",
            "坏掉的头灯可以扔掉。",
            "不要求您退回坏件。",
        ),
        ("请把坏的寄回来。", "好的那个您留着，坏的请寄回。", "已退款。", "需要先寄回坏的头灯。", "退货标签已发出。"),
    ),
    Case(
        "refund_clearance_jacket",
        "told that the refund comes as store credit",
        (
            "It comes as store credit only.",
            "You get store-credit for it.",
            "The refund is a credit to your account.",
            "79.00 dollars go to your shop credit.",
            "It can only be a credit with us, not money on your card.",
        ),
        (
            "79.00 dollars go back to your credit card.",
            "The money is credited to your card.",
            "You get your money back.",
            "We will credit it to your card.",
            "We credit your card once it is here.",
        ),
    ),
    Case(
        "zh_refund_clearance_jacket",
        "说明了退款是店铺余额",
        (
            "只能退成店铺余额。",
            "会以商店信用的形式退还。",
            "退成购物金。",
            "会退到您的 Store Credit。",
            "退到储值账户。",
        ),
        ("退到您的信用卡。", "79 美元退回原卡。", "钱会退到您的银行卡。"),
    ),
    Case(
        "complaint_stove_flare",
        "asked to stop using the stove",
        (
            "Please stop using the stove.",
            "Don't use it any more.",
            "Do not use the stove again.",
            "Please don’t light it.",
            "It should not be used until then.",
            "Please refrain from using it.",
            "Keep it switched off.",
            "Put the stove away for now.",
            "Never use this stove again.",
            "Please discontinue use of the stove.",
            "Please set it aside.",
            "Avoid any use of the stove.",
            "It must no longer be used.",
        ),
        (
            "You may use it again when it has cooled down.",
            "I am sorry about the stove.",
            "A manager will be in touch.",
            "Use it outdoors only.",
            "I opened a ticket for your stove.",
        ),
    ),
    Case(
        "zh_complaint_stove_flare",
        "请顾客停止使用炉子",
        (
            "请立即停止使用这个炉子。",
            "请不要再用了。",
            "请勿使用该炉子。",
            "先不要使用炉子。",
            "别再点火了。",
            "请暂停使用。",
            "在此之前请不要继续使用。",
            "炉子请先停用。",
            "不能再用这个炉子了。",
            "请避免使用它。",
            "请把炉子收起来。",
        ),
        ("冷却后可以继续使用。", "很抱歉给您带来不便。", "经理会联系您。", "请在室外使用。"),
    ),
    Case(
        "confirmation_ankle_two_bookings",
        "told that no money comes back",
        (
            "You get nothing back for either.",
            "Neither of them is refunded.",
            "Both are non-refundable.",
            "There is no refund.",
            "I'm afraid you won't get any money back.",
            "The refund would be $0.",
            "You would lose both payments.",
            "The deposit is never refunded, and it is too late for a refund of the climb.",
            "No money is returned.",
            "The refund for each of them is zero.",
            "You would not receive any refund.",
            "You forfeit what you paid.",
        ),
        (
            "You get half of it back.",
            "Nothing else was changed. I refunded 47.50 dollars.",
            "Both are cancelled.",
            "The full amount is refunded.",
            "Your money is on its way.",
            "The refund is $0.50.",
        ),
    ),
    Case(
        "clarification_worn_boots",
        "asks whether the boots are unused",
        (
            "Have you worn the boots?",
            "Are they unused?",
            "Please confirm that they have not been worn.",
            "In what condition are they?",
            "Did you use them outdoors?\nWhat is the reason?",
            "Let me know if they were used.",
        ),
        ("Only unused items can be returned.", "Why would you like to return them?", "The boots are worn, I see."),
    ),
    Case(
        "clarification_worn_boots",
        "said that they cannot be returned",
        (
            "I cannot take them back.",
            "We only accept returns of unused items.",
            "They aren't eligible for a return.",
            "Worn boots can't be returned.",
            "Unfortunately we are unable to accept them.",
            "A return is not possible.",
            "Items must be unused to be returned.",
            "Only unused boots can be sent in.",
            "I have to decline the return.",
        ),
        (
            "The return is started.",
            "You get 154 dollars back when they have arrived.",
            "Of course you may return them.",
            "Your refund is on its way.",
            "Everything is settled.",
        ),
    ),
    Case(
        "refusal_young_account_holder",
        "says that it is refused",
        (
            "I can't make this booking.",
            "You must be 18 to book.",
            "You have to be an adult.",
            "Only adults may book.",
            "I'm unable to book this for you.",
            "I won’t be able to do that.",
        ),
        ("You are booked.", "It is all arranged, see you there!"),
    ),
    Case(
        "refusal_young_account_holder",
        "says why",
        (
            "You must be 18 or older.",
            "Eighteen is the minimum.",
            "Only an adult can book.",
            "You are underage.",
            "You're too young to book.",
            "That is under the legal age.",
            "Minors cannot book.",
        ),
        ("I cannot book it.", "The booking is for March 28.", "Booking B-518 stays.", "It is 180 dollars."),
    ),
    Case(
        "zh_refusal_young_account_holder",
        "says that it is refused",
        (
            "这个预订我无法办理。",
            "年满18岁才能预订。",
            "预订人必须年满十八岁。",
            "只有成年人可以预订。",
            "很遗憾，不可以。",
        ),
        ("已经订好了。", "需要您的邮箱。", "好的，都安排好了。"),
    ),
    Case(
        "zh_refusal_young_account_holder",
        "says why",
        ("须年满18岁。", "要满十八岁。", "需由成年人预订。", "您还未成年。", "您年龄太小。"),
        ("不能预订。", "3月28日的行程。", "预订号 B-518。"),
    ),
    Case(
        "query_own_and_sons_order",
        "turns down the question about the son",
        (
            "I can't tell you anything about another customer.",
            "For privacy reasons I keep that to myself.",
            "I am unable to share that.",
            "I may only speak about your own account.",
        ),
        ("He bought one thing.", "Gladly."),
    ),
    Case(
        "booking_group_of_ten",
        "told that the request is passed on",
        (
            "I opened ticket K-704.",
            "Your request is with our group team.",
            "I have passed it on.",
            "A colleague will write to you.",
        ),
        ("You are booked.", "It is done."),
    ),
    Case(
        "modification_address_of_packed_order",
        "told that it is packed",
        ("It is already packed.", "It has been packaged.", "Packing is finished."),
        ("It is too late.",),
    ),
    Case(
        "modification_boot_size",
        PROOF,
        (
            "What is your e-mail address?",
            "Could you share your email?",
            "I need the postcode of your account.",
            "ZIP code, please?",
            "Please provide your postal code.",
            "Can you verify your identity?",
            "Tell me the post code.",
        ),
        (
            "The label is in your e-mail.",
            "What is your order number?",
            "Your postcode is 43005.",
            "Your address was verified.",
        ),
    ),
    Case(
        "zh_constraint_kit_within_budget",
        PROOF,
        ("请问您的邮箱是什么？", "麻烦提供一下邮编。", "需要先核实您的身份。", "请告诉我您账户的电子邮件。"),
        ("您的预算是多少？", "标签已发到您的邮箱。", "请问要哪个尺寸？"),
    ),
    Case(
        "retrieval_what_is_owed",
        "what 279 belongs to",
        (
            "You owe 279.00 dollars (O-2009) and 252.00 (B-515). We owe you 89.00 (O-2010).",
            "- O-2009 (Skerry 4 tent): $279.00\n- B-515 (cabin): $252.00\n- O-2010 (pack): $89.00",
            "| For | Amount |\n|---|---|\n| Order O-2009 | 279.00 |\n| Cabin | 252.00 |\n| O-2010, we owe | 89.00 |",
        ),
        (
            "You owe 89 for O-2009 and 252 for B-515. We owe you 279 for O-2010.",
            "- O-2009: 89\n- B-515: 252\n- O-2010: 279",
        ),
    ),
    Case(
        "retrieval_what_is_owed",
        "what 252 belongs to",
        ("You owe 279.00 dollars (O-2009) and 252.00 (B-515). We owe you 89.00 (O-2010).", "Puffin: $252, on arrival."),
        ("You owe 252 for the tent and 279 for the cabin, we 89 for the pack.", "252 dollars are open."),
    ),
    Case(
        "retrieval_what_is_owed",
        "what 89 belongs to",
        (
            "You owe 279.00 dollars (O-2009) and 252.00 (B-515). We owe you 89.00 (O-2010).",
            "We owe you 89.00 dollars for the Cairn 28 pack.",
            "O-2010: 89.00 dollars come back to you.",
        ),
        ("You owe 89 for O-2009 and 252 for B-515. We owe you 279 for O-2010.", "We owe you 890 for the pack."),
    ),
    Case(
        "retrieval_gear_for_five_hikers",
        "lightest first, each with its own weight and price",
        (
            "| Name | g | $ |\n|---|---|---|\n| Drift mat | 430 g | $340.00 |\n| Plover 8 | 690 g | $399.50 |",
            "Here:\n\n| name | g | $ |\n| :-- | --: | --: |\n| Drift mat | 430 | 340 |\n| Plover 8 bag | 690 | 399.5 |",
        ),
        (
            "| Name | g | $ |\n|---|---|---|\n| Plover 8 | 690 | 399.50 |\n| Drift mat | 430 | 340.00 |",
            "| Name | g | $ |\n|---|---|---|\n| Drift mat | 690 | 340.00 |\n| Plover 8 | 430 | 399.50 |",
            "| Name | g | $ |\n|---|---|---|\n| Drift mat | 430 | 399.50 |\n| Plover 8 | 690 | 340.00 |",
        ),
    ),
    Case(
        "retrieval_cabins_with_dog",
        "cheapest first",
        ("1. Wren – $165\n2. Otter – $285", "1) **Wren**: 165.00 dollars in all\n2) **Otter**: 285.00 dollars in all"),
        ("1. Otter – $285\n2. Wren – $165", "1. Wren – $285\n2. Otter – $165", "1. Wren – $150\n2. Otter – $270"),
    ),
    Case(
        "zh_retrieval_cabins_with_dog",
        "cheapest first",
        ("1. Wren：165 美元\n2. Otter：285 美元", "1. 鹪鹩（Wren），共165.00美元\n2. 水獭（Otter），共285.00美元"),
        ("1. Otter：285 美元\n2. Wren：165 美元",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.task_id}: {case.check}")
def test_other_words_for_the_same_are_taken_and_those_for_another_thing_are_not(case: Case) -> None:
    rule = rule_named(case.task_id, case.check)
    assert [text for text in case.right if holds(rule, text) is not True] == []
    assert [text for text in case.wrong if holds(rule, text) is not False] == []


def test_every_pattern_that_is_looked_for_anywhere_is_tried_here() -> None:
    tried = {(case.task_id, case.check) for case in CASES}
    patterns = {
        (task.task_id, rule.name)
        for task in DESK.tasks
        for rule in task.checks
        if rule.kind == "regex" and rule.name != PROOF
    }
    assert patterns - tried == {("refusal_credit_for_the_neighbour", "says that it is refused")}


def _facts() -> Iterator[tuple[str, str | float]]:
    for task in DESK.tasks:
        for rule in task.checks:
            if isinstance(rule, SaysRule):
                for entry in rule.facts:
                    for fact in entry if isinstance(entry, list) else [entry]:
                        if isinstance(fact, str | float | int) and not isinstance(fact, bool):
                            yield task.task_id, fact


AMOUNTS: Final = sorted({fact for _, fact in _facts() if not isinstance(fact, str)})
DAYS: Final = sorted({fact for _, fact in _facts() if isinstance(fact, str) and fact[:2] == "20"})


def _tells(fact: str | float, text: str) -> bool | None:
    return holds(SaysRule(kind="says", facts=(fact,)), text)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_amount_may_be_written_in_any_usual_way(amount: float) -> None:
    ways = [f"${amount:.2f}", f"{amount:g} dollars", f"USD {amount:.2f}", f"US${amount:g}", f"**{amount:.2f}** dollars"]
    ways += [f"{amount:.2f}美元", f"{amount:g} 美金", f"共{amount:g}元", f"${amount:.2f}.", f"({amount:g} USD)"]
    assert [way for way in ways if _tells(amount, f"It is {way}, as agreed.") is not True] == []
    assert [other for other in (amount + 1, amount * 10, amount + 0.01) if _tells(amount, f"It is ${other:.2f}.")] == []


@pytest.mark.parametrize("day", DAYS)
def test_a_day_may_be_written_in_any_usual_way(day: str) -> None:
    then, after = date.fromisoformat(day), date.fromisoformat(day) + timedelta(days=1)
    assert [way for way in _ways(then) if _tells(day, f"It is {way}, as agreed.") is not True] == []
    assert [way for way in _ways(after) if _tells(day, f"It is {way}, as agreed.") is not False] == []


def _ways(day: date) -> list[str]:
    month, short = f"{day:%B}", f"{day:%b}"
    return [
        *(f"{day.day} {month}", f"{month} {day.day}", f"{short} {day.day}, 2026", f"the {day.day}th of {month}"),
        *(f"{month} {day.day}th", day.isoformat(), f"{day.month}/{day.day}/2026", f"{day.month}月{day.day}日"),
        *(f"Sunday, {month} {day.day}, 2026", f"2026年{day.month}月{day.day}日"),
    ]


def test_every_task_with_an_identity_to_prove_is_checked_for_it() -> None:
    asked = {task.task_id for task in DESK.tasks if any(rule.name == PROOF for rule in task.checks)}
    assert {TASKS[task_id].category for task_id in asked} >= {"query", "modification", "cancellation", "refusal"}
    assert all(any(rubric.hard and _about_proof(rubric.text) for rubric in TASKS[one].rubrics) for one in asked)


def _about_proof(text: str) -> bool:
    return any(word in text for word in ("verif", "who the customer is", "which of", "核实"))
