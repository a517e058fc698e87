"""Facts in the ways that people write them: numbers, days and names, in English and Chinese."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import cn2an  # type: ignore[import-untyped]
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import misjudge_storage
import misjudge_tools
from misjudge_tools.episodes.facts import number_of, numbers_written, told
from misjudge_tools.episodes.rules import Cell

FULL_WIDTH = str.maketrans("0123456789.,-", "０１２３４５６７８９．，－")
MONTHS = "January February March April May June July August September October November December".split()
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (129.5, "Your refund is $129.50."),
        (129.5, "129.5元"),
        (129.5, "一百二十九点五"),
        (129.5, "１２９．５０"),
        (129.5, "US$129.50"),
        (129.5, "USD129.50"),
        (129.5, "**129.50**"),
        (129, "129.00 EUR"),
        (129, "one hundred and twenty-nine"),
        (200, "退款两百元"),
        (200, "二百"),
        (100_000, "十万"),
        (1.5, "一点五"),
        (10, "十分钟"),
        (1, "一分钟"),
        (50_000_000, "五千万"),
        (123, "壹佰贰拾叁元"),
        (300, "三百块"),
        (35000, "3万5"),
        (35000, "三万五"),
        (35000, "3.5万"),
        (1200, "1千2百"),
        (150, "一百五"),
        (2026, "二〇二六"),
        (24, "廿四"),
        (3000, "三千"),
        (3000, "三千，谢谢"),
        (1299, "1,299"),
        (1299, "1 299".replace(" ", "\u202f")),
        (1299.5, "1,299.50"),
        (1_000_000, "a number of 1,000,000"),
        (1500, "$1.5k"),
        (1_200_000, "1.2 million"),
        (2_000_000, "2m"),
        (2, "2m"),
        (3_000_000_000, "3bn"),
        (12, "twelve"),
        (1, "one of them"),
        (100, "the one hundred"),
        (12, "共twelve个"),
        (12, "12pm"),
        (2, "the 2nd"),
        (40, "Forty"),
        (12, "10–12 days"),
        (10, "10-12 days"),
        (3, "1,2,3"),
        (2, "1,2,3"),
        (15, "15%"),
        (0.15, "15 %"),
        (15, "15 percent"),
        (15, "百分之十五"),
        (0.15, "百分之十五"),
        (15, "１５％"),
        (-5, "it is -5 now"),
        (-5, "it is \u22125 now"),
        (-5, "-$5.00"),
        (-5, "负五"),
        (5, "(5)"),
        (5, "the 5."),
        (50, "...50 off"),
        (0.5, "$.50"),
        (0, "0"),
        (0, "zero"),
        (4417, "#4417"),
        (4417, "O-4417"),
        (4417, "订单O-4417已取消"),
        (1, "一个"),
        (3, "第三天"),
        (2, "两个"),
        ("129.50", "129.5"),
        ("15%", "15 %"),
        ("一百", "一百"),
        (2, "2\u200b items"),
    ],
)
def test_a_number_is_told_however_it_is_written(fact: Cell, text: str) -> None:
    assert told(fact, text)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (12, "129"),
        (12, "1,299"),
        (29, "129"),
        (129, "129.50"),
        (50, "129.50"),
        (50, "$.50"),
        (5, "-5"),
        (-5, "10-5"),
        (2, "1.2.3"),
        (1.2, "version 1.2.3"),
        (30, "at 14:30"),
        (14, "at 14:30"),
        (20, "A20"),
        (12, "12ab34"),
        (34, "12ab34"),
        (1, "item_1"),
        (1, "1_000"),
        (7, "O-0007"),
        (1000, "1k2"),
        (1, "one hundred"),
        (29, "one hundred and twenty-nine"),
        (100, "one hundred and twenty-nine"),
        (20, "twenty-one"),
        (6, "sixty"),
        (1, "anyone, none"),
        (1, "One moment: no one else has the other one."),
        (1, "1.5k"),
        (1.2, "1.2 million"),
        (2, "two million"),
        (2, "两百"),
        (100, "两百"),
        (5, "一百二十九点五"),
        (10, "十分抱歉"),
        (1, "请等一下，一起看"),
        (1, "唯一，统一"),
        (23, "两三天"),
        (2026, "on 2026-03-14"),
        (14, "on March 14"),
        (3, "3/14/2026"),
        (14, "14.03.2026"),
        (14, "3月14日"),
        (5, "1" * 60),
        (None, "None null"),
        (True, "True 1"),
        ("O-4417", "4417"),
        (3, "千万不要，万一"),
    ],
)
def test_another_number_is_not_told(fact: Cell, text: str) -> None:
    assert not told(fact, text)


NUMBERS = st.one_of(
    st.integers(0, 10**7),
    st.decimals(0, 10**6, places=2, allow_nan=False, allow_infinity=False).map(lambda number: float(number)),
)
FRAMES = st.sampled_from(["{}", "It is {} in all.", "$ {}", "（{}）", "共{}元", "a: {}, b", "“{}”", "\n{}\n", "**{}**"])


def writings(number: float) -> list[str]:
    exact = Decimal(repr(number))
    plain = f"{exact:.2f}" if exact % 1 else f"{exact:.0f}"
    grouped = f"{exact:,.2f}"
    chinese = cn2an.an2cn(plain if exact % 1 else int(number), "low")
    capital = cn2an.an2cn(plain if exact % 1 else int(number), "up")
    return [
        plain,
        grouped,
        f"{exact:.2f}",
        plain.translate(FULL_WIDTH),
        f"${grouped}",
        f"{grouped}元",
        chinese,
        capital,
    ]


def in_words(number: int) -> str:
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        rest = f" and {in_words(number % 100)}" if number % 100 else ""
        return f"{ONES[number // 100]} hundred{rest}"
    rest = f" {in_words(number % 1000)}" if number % 1000 else ""
    return f"{in_words(number // 1000)} thousand{rest}"


@given(NUMBERS, st.integers(0, 7), FRAMES)
def test_any_number_is_told_in_any_writing(number: float, writing: int, frame: str) -> None:
    assert told(number, frame.format(writings(number)[writing]))


@given(NUMBERS, NUMBERS, st.integers(0, 7), FRAMES)
def test_no_number_is_told_by_another_one(number: float, other: float, writing: int, frame: str) -> None:
    assume(number != other)
    assert not told(other, frame.format(writings(number)[writing]))


@given(st.integers(0, 999_999), st.integers(0, 999_999))
def test_a_number_in_words_is_that_number_alone(number: int, other: int) -> None:
    assert told(number, f"There are {in_words(number)}, sir.")
    assert told(other, f"There are {in_words(number)}, sir.") == (number == other)


def test_every_small_number_is_told_in_words() -> None:
    for number in range(1, 1200):
        text = f"We have {in_words(number)} of them."
        assert {other for other in range(1, 1200) if told(other, text)} == {number}


def days(day: date) -> list[str]:
    month, short = MONTHS[day.month - 1], MONTHS[day.month - 1][:3]
    nth = {1: "st", 2: "nd", 3: "rd"}.get(day.day if day.day not in (11, 12, 13) else 0, "th")
    digits = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(day.year))
    return [
        day.isoformat(),
        f"{day.isoformat()}T10:30",
        f"{day:%Y/%m/%d}",
        f"{month} {day.day}",
        f"{month} {day.day}, {day.year}",
        f"{month.upper()} {day.day}{nth}",
        f"{short}. {day.day}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"{day.day}{nth} of {month}",
        f"the {day.day:02} {short}",
        f"{day.day}-{short}-{day.year}",
        f"{day.month}/{day.day}/{day.year}",
        f"{day.month}/{day.day}/{day.year % 100:02}",
        f"{day.day:02}.{day.month:02}.{day.year}",
        f"{day.month}月{day.day}日",
        f"{day.year}年{day.month}月{day.day}日".translate(FULL_WIDTH),
        f"{day.year} 年 {day.month} 月 {day.day} 号",
        f"{cn2an.an2cn(day.month)}月{cn2an.an2cn(day.day)}日".replace("一十", "十"),
        f"{digits}年{cn2an.an2cn(day.month)}月{cn2an.an2cn(day.day)}日".replace("一十", "十"),
    ]


DAYS = st.dates(date(2020, 1, 1), date(2035, 12, 31))


@given(DAYS, st.integers(0, 18), st.sampled_from(["{}", "It comes on {}.", "我们{}送货。", "({})", "by {}, at 10:30"]))
def test_any_day_is_told_in_any_writing(day: date, writing: int, frame: str) -> None:
    assert told(day.isoformat(), frame.format(days(day)[writing]))


@given(DAYS, st.integers(1, 360), st.integers(0, 18))
def test_no_day_is_told_by_another_one(day: date, later: int, writing: int) -> None:
    assert not told((day + timedelta(later)).isoformat(), f"It comes on {days(day)[writing]}.")


@pytest.mark.parametrize(
    "text",
    [
        "March 14, 2025",
        "2025年3月14日",
        "March 140",
        "March 14,500",
        "114 March",
        "14.3",
        "3/4/2026",
        "the 14th",
        "13月14日",
        "2026-03-145",
        "tomorrow",
        "20260314",
        "一二三四五月十四日",
        "千千月亿亿日",
    ],
)
def test_what_is_no_such_day_does_not_tell_it(text: str) -> None:
    assert not told("2026-03-14", text)


def test_the_day_may_come_first_where_it_can_be_no_month() -> None:
    assert told("2026-03-14", "14/3/2026")
    assert told("2026-04-03", "4/3/2026")
    assert not told("2026-03-04", "4/3/2026")


def test_a_date_that_is_none_is_a_name() -> None:
    assert told("2026-02-30", "2026-02-30")
    assert not told("2026-02-30", "2026-03-02")


@pytest.mark.parametrize(
    ("fact", "text", "is_told"),
    [
        ("O-4417", "Order o-4417.", True),
        ("O-4417", "order O4417", True),
        ("O-4417", "order O\u20114417", True),
        ("O-4417", "订单Ｏ－４４１７已取消", True),
        ("O4417", "O-4417", True),
        ("O-4417", "O-44170", False),
        ("O-4417", "NO-4417", False),
        ("O-4417", "O-4417.5", False),
        ("O-4417", "O-4418", False),
        ("Blue Kettle", "a BLUE-KETTLE", True),
        ("Blue Kettle", "the blue\n kettle's lid", True),
        ("wireless", "wire-less", False),
        ("wire-less", "wireless", True),
        ("kettle", "kettles", False),
        ("Ann", "Hanna", False),
        ("Ann", "Ann_1", False),
        ("José", "josé", True),
        ("it's", "it\u2019s", True),
        ("half", "half of it", True),
        ("张三", "您好，张三先生", True),
        ("张三", "张 三", True),
        ("张三", "李四", False),
        ("A座3楼", "在A座 3 楼", True),
        ("10:00", "at 10:00", True),
        ("10:00", "at 110:00", False),
        ("a.b", "axb", False),
        ("(a", "(a", True),
        ("\u200b", "anything", False),
        ("-", "-", False),
    ],
)
def test_a_name_is_told_as_whole_words(fact: str, text: str, is_told: bool) -> None:
    assert told(fact, text) is is_told


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("129.50", "129.50"),
        (" $1,299.5 ", "1299.5"),
        ("-3", "-3"),
        ("-$3", "-3"),
        ("15%", "15"),
        ("一百二十", "120"),
        ("３", "3"),
        ("007", None),
        ("O-4417", None),
        ("three", None),
        ("", None),
        ("1 2", None),
        ("万", None),
        ("1" * 60, None),
        ("一" * 60, None),
    ],
)
def test_a_text_may_be_a_number_as_a_whole(text: str, number: str | None) -> None:
    assert number_of(text) == (None if number is None else Decimal(number))


@pytest.mark.parametrize(
    ("texts", "number"),
    [
        (["Hello there."], 0),
        (["It is $1,299.50, or 1299 without cents."], 2),
        (["5 of 5", "5"], 1),
        (["March 14, 2026; 2026-03-14", "3月14日"], 2),
        (["1,2,3,4"], 4),
        (["O-4417 and AB12, 10:45, 1.2.3, 007"], 7),
        (["三十, 三十一 and forty-one"], 3),
    ],
)
def test_different_numbers_and_days_are_counted_however_they_stand_in_a_text(texts: list[str], number: int) -> None:
    assert numbers_written(texts) == number


HOSTILE = (
    "'1' * n", "'1,' * n", "'1.' * n", "'1 ' * n", "'1,111' * n", "'一' * n", "'一百' * n", "'3万' * n",
    "'1' * n + '万'", "'one ' * n", "'one hundred and ' * n", "'march ' * n", "'1月' * n", "'-' * n", "'o-' * n",
    "'a' * n", "'.' * n + 'x'", "'1:' * n", "'1/' * n", "'1a' * n", "' ' * n", "'百分之' * n",
    "' '.join(map(str, range(n // 4)))", "','.join(map(str, range(n // 4)))", "'1,111,' * n", "'1.1,' * n",
)  # fmt: skip

TRY = """
import sys
from misjudge_tools.episodes.facts import numbers_written, told
n = 50_000
for text in sys.argv[1:]:
    said = eval(text)
    told(5, said), told("O-4417", said), told("2026-03-14", said), numbers_written([said])
    print(text, flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_hostile_text_is_read_in_linear_time() -> None:
    # A quadratic step would take minutes; a process can be ended, a pattern that is being matched cannot.
    rooms = [str(Path(room.__path__[0]).parent) for room in (misjudge_tools, misjudge_storage)]
    code = f"import sys; sys.path[:0] = {rooms!r}\n{TRY}"
    with subprocess.Popen([sys.executable, "-X", "utf8", "-c", code, *HOSTILE], stdout=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        for text in HOSTILE:
            ending = threading.Timer(30, reading.kill)
            ending.start()
            read = reading.stdout.readline().decode().rstrip()
            ending.cancel()
            assert read == text, f"{text} took too long"
