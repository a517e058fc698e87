"""What is said of a judge in plain words follows from its numbers, in both languages."""

from __future__ import annotations

import re

import pytest

from misjudge_tools.stats.misselection import Misselection, misselection
from misjudge_tools.stats.policies import Region
from misjudge_tools.stats.rates import Rate, clustered_rate, independent
from misjudge_tools.summary.constant_answers import ConstantAnswer
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.deciding.verdict import Findings, verdict

MEASURED = re.compile(r"\d+\.\d %[ ,，]")
COUNTS = {"en": re.compile(r"\d+ of \d+"), "zh": re.compile(r"\d+ [个次][^（）：]*中的 \d+ [个次]")}
LANGUAGES: tuple[Language, Language] = ("en", "zh")


def wrong(k: int, n: int) -> Misselection:
    """So many wrong answers, of a judge that decides every pair."""
    return misselection(independent(k, n), independent(k, n), n, n)


def flips(k: int, n: int) -> Rate:
    return clustered_rate(independent(k, n))


def test_a_judge_that_fails_on_near_pairs_only_is_not_to_be_used_there() -> None:
    found = Findings(wrong(14, 437), near=wrong(11, 37), wide=wrong(3, 400), gap="ability")
    said = verdict(found, "en")
    assert said.grade == "not_near"
    assert said.sentences[:2] == (
        "Do not use this judge to choose between agents closer than 0.10: it picked the side that failed in "
        "11 of 37 answers on decidable pairs (29.7 %, 95 % 17–47 %).",
        "Between agents 0.10 or more apart it may be used: 3 of 400 answers on decidable pairs "
        "(0.8 %, 95 % 0.3–2.2 %), within the limit of 5 %.",
    )
    assert verdict(found, "zh").sentences[0] == (
        "不要用这个裁判在能力差距小于 0.10 的智能体之间做选择：它选中了失败的一方："
        "37 次对可判定配对的判定中的 11 次（29.7 %，95 % 区间 17–47 %）。"
    )


@pytest.mark.parametrize(
    ("overall", "grade", "begins"),
    [
        (wrong(1, 400), "usable", "This judge may be used on pairs like these"),
        (wrong(120, 400), "do_not_use", "Do not use this judge to choose between responses like these"),
        (wrong(3, 60), "undecided", "Whether this judge may be used is not decided"),
    ],
)
def test_without_a_gap_the_whole_audit_decides(overall: Misselection, grade: str, begins: str) -> None:
    said = verdict(Findings(overall), "en")
    assert said.grade == grade
    assert said.sentences[0].startswith(begins)


def test_a_judge_without_gold_is_said_to_be_neither_right_nor_wrong() -> None:
    said = verdict(Findings(None, flips=flips(8, 20)), "en")
    assert said.grade == "no_gold"
    assert said.sentences[1] == "It changed sides with the order in 8 of 20 pairs (40.0 %, 95 % 21–63 %)."
    assert "random sample" in said.would_change[0]


def test_a_constant_answer_is_no_skill_whatever_its_accuracy() -> None:
    said = verdict(Findings(wrong(50, 100), constant=ConstantAnswer("second", 98, 100)), "en")
    assert said.grade == "do_not_use"
    assert said.sentences[0].startswith("Do not use this judge: it named the side shown second in 98 of 100 answers")
    assert "Over all pairs it cannot be told from a coin." in said.sentences


def test_a_usable_judge_that_is_unproven_on_near_pairs_says_so() -> None:
    found = Findings(wrong(3, 460), near=wrong(2, 40), wide=wrong(1, 420), gap="reward")
    said = verdict(found, "en")
    assert said.grade == "usable"
    assert said.sentences[1].startswith("Between responses whose rewards differ by 0.2 or less it is not decided: 2 of")


def test_a_certified_rule_is_named_with_its_bound_and_what_it_decides() -> None:
    certified = Region(policy="margin>=2", margin=2, coverage=0.61, bound=0.041, limit=0.05, tasks=90, tested=())
    said = verdict(Findings(wrong(120, 400), region=certified), "en")
    assert (
        "Under the rule margin>=2 it is certified: at most 4.1 % wrong (one-sided 95 % bound), deciding 61 % of the "
        "decidable pairs."
    ) in said.sentences
    assert said.would_change[0].startswith("Use it under the rule margin>=2 only")
    nowhere = Region(policy=None, limit=0.05, tasks=90, tested=())
    none = verdict(Findings(wrong(120, 400), region=nowhere), "en")
    assert "Under no rule of abstaining is it certified to stay under 5 %." in none.sentences


def test_a_rule_is_no_advice_where_the_judge_may_be_used_anyway() -> None:
    certified = Region(policy="both_orders", coverage=0.95, bound=0.02, limit=0.05, tasks=400, tested=())
    said = verdict(Findings(wrong(1, 400), region=certified), "en")
    assert said.grade == "usable" and said.would_change == ()


def test_a_judge_that_fails_on_near_pairs_is_never_called_usable_where_no_wide_ones_are_known() -> None:
    said = verdict(Findings(wrong(20, 2000), near=wrong(14, 40), gap="ability"), "en")
    assert said.grade == "not_near"


def test_a_judge_that_leaves_pairs_open_is_not_usable_however_seldom_it_is_wrong() -> None:
    silent = misselection(independent(0, 400), independent(0, 200), 400, 400)
    said = verdict(Findings(silent), "en")
    assert said.grade == "abstains"
    assert "it has a verdict on 50 % of the decidable pairs, 200 of them" in said.sentences[0]


def test_always_the_same_better_side_without_turned_orders_proves_nothing() -> None:
    said = verdict(Findings(wrong(0, 400), one_sided="A"), "en")
    assert said.grade == "one_sided"
    assert "always answering A would look as good" in said.sentences[0]
    assert said.would_change == ("Ask both orders (--orders both), or import pairs of which either side was better.",)


def test_a_null_result_says_what_it_could_have_shown_and_an_open_one_what_it_takes() -> None:
    said = verdict(Findings(wrong(3, 60), smallest_gap=0.21, still_needed=140), "en")
    assert any("can miss a difference of less than 21 points" in sentence for sentence in said.sentences)
    assert said.would_change == ("About 140 more decidable pairs like these would tell whether it stays under 5 %.",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_share_is_told_without_its_counts_and_interval(language: Language) -> None:
    found = Findings(
        wrong(90, 300),
        near=wrong(60, 100),
        wide=wrong(30, 200),
        gap="ability",
        undecided=flips(120, 300),
        flips=flips(60, 300),
        smallest_gap=0.2,
    )
    told = [sentence for sentence in verdict(found, language).sentences if MEASURED.search(sentence)]
    assert len(told) == 2
    for sentence in told:
        assert len(MEASURED.findall(sentence)) == sentence.count("95 %") == len(COUNTS[language].findall(sentence))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_judge_that_fails_on_near_and_wide_pairs_is_not_to_be_used_at_all(language: Language) -> None:
    found = Findings(wrong(90, 300), near=wrong(60, 100), wide=wrong(30, 200), gap="ability")
    said = verdict(found, language)
    assert said.grade == "do_not_use"
    begins = {"en": "Do not use this judge: it picked the side that failed in 60 of 100", "zh": "不要使用这个裁判："}
    assert said.sentences[0].startswith(begins[language])
    for share in ("60.0 %", "15.0 %"):
        assert share in said.sentences[0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "found",
    [
        Findings(wrong(90, 300), near=wrong(60, 100), wide=wrong(30, 200), gap="ability"),
        Findings(wrong(14, 437), near=wrong(11, 37), wide=wrong(3, 400), gap="ability"),
        Findings(wrong(1, 400)),
        Findings(wrong(120, 400)),
        Findings(wrong(3, 60)),
        Findings(wrong(12, 60), decidable=60, picked=40, picked_calls=40),
        Findings(misselection(independent(0, 400), independent(0, 200), 400, 400)),
    ],
)
def test_failure_is_said_only_of_sides_that_are_known_to_have_failed(found: Findings, language: Language) -> None:
    failed, worse = {
        "en": ("picked the side that failed", "picked the side that gold calls worse"),
        "zh": ("选中了失败的一方", "选中了标准答案认为较差的一方"),
    }[language]
    known = " ".join(verdict(found, language).sentences)
    preferred = " ".join(verdict(found._replace(failed_known=False), language).sentences)
    assert failed in known and worse not in known
    assert worse in preferred and failed not in preferred


def test_position_is_blamed_only_where_answers_go_by_it() -> None:
    turning = Findings(wrong(120, 400), flips=flips(60, 200))
    by_position, untold = (
        verdict(turning._replace(by_position=known), "en").would_change[0] for known in (True, False)
    )
    assert "position, not content, decides" in by_position
    assert "not content" not in untold and "noise as well as position" in untold and "60 of 200 pairs" in untold


def test_picked_pairs_move_a_rate_by_their_share_at_most() -> None:
    for k, picked, grade in ((60, 10, "do_not_use"), (60, 40, "undecided"), (2, 4, "usable"), (2, 20, "undecided")):
        found = Findings(wrong(k, 400), decidable=400, picked=picked, picked_calls=picked)
        said = verdict(found, "en")
        assert said.grade == grade
        assert f"{picked} of the 400 decidable pairs are known only by labels" in " ".join(said.sentences)
        assert any("drawn at random" in one for one in said.would_change)


def test_near_pairs_that_were_picked_do_not_forbid_a_judge_there() -> None:
    found = Findings(wrong(14, 437), near=wrong(11, 37), wide=wrong(3, 400), gap="ability")
    assert verdict(found, "en").grade == "not_near"
    picked = verdict(found._replace(decidable=437, picked=11, picked_calls=11), "en")
    assert picked.grade == "undecided"
