"""What a summary says of a judge's biases, against a count in plain Python and on judges with planted ones."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force as by_hand
from brute_force import Judged
from builders import JUDGE, episode, label, messages, pair, passed, rewarded, verdict
from generated import SIDES, fresh
from misjudge_storage.engine import Store
from misjudge_storage.reason_counts import WORDS
from misjudge_storage.types import Judge, Order, Preference, Record, Verdict
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.probes import Differences, paired_effect, paired_sums
from misjudge_tools.stats.probes import preference_by_gold as against_gold
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate, independent
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.bias_values import BiasSection, WordBias
from operations import stored

OWN = Judge(label="judge", form="pairwise", model="gpt-4o", origin="imported")
OTHER = Judge(label="other", form="pairwise", model="claude-3-opus", origin="imported")
MODELS = ("gpt-4o", "claude-3-opus", "something of nobody", None)
REASONS = ("", "It is Longer.", "no longer needed, refund issued", "语气更好，退款已完成", "polite and more detailed")
COIN = st.booleans()
MAYBE: st.SearchStrategy[Preference | None] = st.one_of(st.none(), SIDES)
ORDERS: st.SearchStrategy[tuple[Order, ...]] = st.sampled_from([("AB", "BA"), ("AB",), ("BA",)])
SWAPPED: dict[Any, Any] = {"A": "B", "B": "A", "tie": "tie", None: None, "AB": "BA", "BA": "AB"}


def bias(store: Store, judge: str = "judge", **stated: str) -> BiasSection:
    asked = SummarizeRequest(audit="a", judge=judge, sections=["bias"])
    found = summarize(asked, store, {name.replace("_", "-"): family for name, family in stated.items()}).bias
    assert found is not None
    return found


@st.composite
def calls(draw: st.DrawFn, judge: Judge) -> list[Verdict]:
    found = []
    for order in draw(ORDERS):
        for repeat in range(draw(st.integers(1, 3))):
            winner = draw(MAYBE)
            facts: dict[str, Any] = {"reasons": draw(st.sampled_from(REASONS))}
            if winner is not None and draw(COIN):
                a, b = draw(st.sampled_from([(1.0, 2.0), (2.0, 1.0), (2.0, 2.0)]))
                against = (winner == "A" and a < b) or (winner == "B" and b < a)
                facts |= {"score_a": a, "score_b": b, "contradicts_scores": against}
            found.append(verdict(winner, order, repeat, judge, **facts))
    return found


@st.composite
def leaning_audits(draw: st.DrawFn) -> list[Record]:
    """Pairs of three tasks with episodes of all lengths, rewards and models, judged by two judges."""
    found = []
    by_tokens = draw(COIN)
    for n in range(draw(st.integers(1, 9))):
        sides = []
        for side in "xy":
            checks = [passed(draw(COIN))] if draw(COIN) else []
            if draw(COIN):
                checks.append(rewarded(draw(st.sampled_from([0.0, 0.5, 1.0]))))
            size = draw(st.sampled_from([None, 3, 5, 8]))
            facts: dict[str, Any] = {"base_model": draw(st.sampled_from(MODELS))}
            if size is not None:
                facts |= {"output_tokens": size} if by_tokens else {"said": messages("Hi", "a" * size)}
            sides.append(episode(f"{side}{draw(st.integers(0, 1))}", *checks, task=f"t{n % 3}", trial=n, **facts))
        gold = [label(draw(SIDES))] if draw(COIN) else []
        said = draw(calls(OWN)) + (draw(calls(OTHER)) if draw(COIN) else [])
        bucket = draw(st.sampled_from([None, "near", "wide"]))
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=gold, ability_bucket=bucket, line=n + 1))
    return found


def numbers(value: Any) -> Any:
    """As JSON, numbers up to rounding."""
    if isinstance(value, dict):
        return {name: numbers(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(numbers, value))
    return pytest.approx(value) if isinstance(value, float) else value


def rate(pairs: Sequence[Any], k: Callable[[Any], int], n: Callable[[Any], int], of: Callable[[Any], str]) -> Any:
    """The clustered rate over these, each of a task."""
    tasks: defaultdict[str, list[Any]] = defaultdict(list)
    for one in pairs:
        tasks[of(one)].append(one)
    sums = cluster_sums(Tally(sum(map(k, group)), sum(map(n, group))) for group in tasks.values())
    return numbers(clustered_rate(sums).model_dump())


def task_of(one: Judged) -> str:
    return one.task


def size(one: Judged, side: int) -> int | None:
    trajectory = one.record.episodes[side].trajectory
    if trajectory.output_tokens is not None:
        return trajectory.output_tokens
    return None if trajectory.messages is None else len(trajectory.messages[1].content)


def longer(one: Judged) -> Preference | None:
    a, b = size(one, 0), size(one, 1)
    return None if a is None or b is None else by_hand.compare(a, b)


def reward(one: Judged, side: int) -> float | None:
    check = by_hand.best(one.record.episodes[side], "reward")
    return None if check is None else check.reward


def lower(one: Judged) -> Preference | None:
    a, b = reward(one, 0), reward(one, 1)
    return None if a is None or b is None else by_hand.compare(b, a)


def is_pick(one: Judged) -> int:
    return int(one.pref in {"A", "B"})


@settings(max_examples=25)
@given(leaning_audits())
def test_length_rewards_and_repeats_are_as_counted_by_hand(records: list[Record]) -> None:
    pairs = by_hand.judged(records, "judge")
    with fresh() as (store, _):
        stored(store, records)
        found = bias(store)
    sized = [one for one in pairs if longer(one) in {"A", "B"}]
    raw = rate(sized, lambda one: int(one.pref == longer(one)), is_pick, task_of)
    if found.length is None:
        assert raw["n"] == 0 and "length" in found.why
    else:
        assert found.length.longer.model_dump(include=raw.keys()) == raw
        assert found.length.equal == sum(is_pick(one) for one in pairs if longer(one) == "tie")
        assert found.length.unknown == sum(is_pick(one) for one in pairs if longer(one) is None)
        assert found.length.with_gold_fixed.n == sum(is_pick(one) for one in sized if one.decidable)
    unequal = [one for one in pairs if lower(one) in {"A", "B"}]
    expected = rate(unequal, lambda one: int(one.pref == lower(one)), is_pick, task_of)
    if found.lower_reward_selected is None:
        assert expected["n"] == 0 and "lower_reward_selected" in found.why
    else:
        assert found.lower_reward_selected.rate.model_dump() == expected
        near = [one for one in unequal if one.record.pair and one.record.pair.ability_bucket == "near"]
        assert found.lower_reward_selected.near.k == sum(one.pref == lower(one) for one in near)
        equal = sum(is_pick(one) for one in pairs if lower(one) == "tie")
        assert found.lower_reward_selected.equal_rewards == equal
    assert_stable(found, pairs)


def assert_stable(found: BiasSection, pairs: Iterable[Judged]) -> None:
    shares = []
    for one in pairs:
        for order in ("AB", "BA"):
            said = Counter(winner for shown, winner in one.calls if shown == order)
            if said.total() > 1:
                shares.append(max(said.values()) / said.total())
    if not shares:
        assert found.stability is None and "stability" in found.why
        return
    assert found.stability is not None
    assert found.stability.n == len(shares)
    assert found.stability.value == pytest.approx(sum(shares) / len(shares))


@settings(max_examples=25)
@given(leaning_audits())
def test_reasons_and_scores_are_as_counted_by_hand(records: list[Record]) -> None:
    pairs = by_hand.judged(records, "judge")
    replies = [(one, said) for one in pairs for said in one.verdicts if said.winner is not None]
    with fresh() as (store, _):
        stored(store, records)
        found = bias(store)
    scored = [one for one in replies if one[1].winner != "tie" and one[1].score_a is not None]
    expected = rate(scored, lambda one: int(one[1].contradicts_scores), lambda _: 1, lambda one: one[0].task)
    assert (found.self_contradiction is None) == (not scored)
    if found.self_contradiction is not None:
        assert found.self_contradiction.model_dump() == expected
    reasoned = [one for one in replies if one[1].reasons]
    assert (found.words is None) == (not reasoned)
    for word in found.words or ():
        assert_word(word, reasoned)


def assert_word(found: WordBias, replies: Sequence[tuple[Judged, Verdict]]) -> None:
    def holds(reply: tuple[Judged, Verdict]) -> int:
        said = reply[1].reasons.lower()
        words = WORDS[found.group]
        return int(any(word in said for word in words.like) and not any(word in said for word in words.unlike))

    def wrong(reply: tuple[Judged, Verdict]) -> int:
        return int(reply[0].decidable and reply[1].winner not in {"tie", reply[0].gold})

    def task(reply: tuple[Judged, Verdict]) -> str:
        return reply[0].task

    assert found.said.model_dump() == rate(replies, holds, lambda _: 1, task)
    decidable = [reply for reply in replies if reply[0].decidable]
    with_it, without = [r for r in decidable if holds(r)], [r for r in decidable if not holds(r)]
    assert found.wrong_with.model_dump() == rate(with_it, wrong, lambda _: 1, task)
    assert found.wrong_without.model_dump() == rate(without, wrong, lambda _: 1, task)
    if with_it and without:
        difference = sum(map(wrong, with_it)) / len(with_it) - sum(map(wrong, without)) / len(without)
        assert found.difference.value == pytest.approx(difference)


def own_side(one: Judged) -> Preference | None:
    """The side of the judge's own family, where the other one is of another."""
    a, b = (one.record.episodes[side].trajectory.base_model for side in (0, 1))
    known = {MODELS[0]: True, MODELS[1]: False}
    if a not in known or b not in known or known[a] == known[b]:
        return None
    return "A" if known[a] else "B"


@settings(max_examples=25)
@given(leaning_audits())
def test_preference_of_the_own_family_is_as_counted_by_hand(records: list[Record]) -> None:
    pairs = [one for one in by_hand.judged(records, "judge") if one.status != "unscored" and own_side(one)]
    others = {one.record.pair: one for one in by_hand.judged(records, "other") if one.status != "unscored"}
    with fresh() as (store, _):
        stored(store, records)
        found = bias(store).self_preference
    if found is None:
        assert not pairs
        return
    assert found.family == "openai"
    assert found.own.model_dump() == rate(pairs, lambda one: int(one.pref == own_side(one)), is_pick, task_of)

    def value(one: Judged, own: Preference | None) -> float:
        return 0.5 if not is_pick(one) else float(one.pref == own)

    tasks: defaultdict[str, list[float]] = defaultdict(list)
    for one in pairs:
        if one.record.pair in others:
            own = own_side(one)
            tasks[one.task].append(value(one, own) - value(others[one.record.pair], own))
    sums = paired_sums(Differences(len(d), sum(d), sum(x * x for x in d)) for d in tasks.values())
    if found.excess is None:
        assert not tasks and found.beside is None
    else:
        assert found.beside == "other"
        assert found.excess.model_dump() == numbers(paired_effect(sums).model_dump())
    picked = [one for one in pairs if one.decidable and is_pick(one)]
    failed, did = (
        rate_sums([one for one in picked if (one.gold == own_side(one)) is succeeded]) for succeeded in (False, True)
    )
    expected = against_gold(failed, did)
    assert (found.by_gold is None) == (expected is None)
    if found.by_gold is not None and expected is not None:
        assert found.by_gold.model_dump() == numbers(expected.model_dump())


def rate_sums(pairs: Sequence[Judged]) -> Any:
    return by_hand.sums(pairs, lambda one: int(one.pref != one.gold), lambda _: 1)


@settings(max_examples=25)
@given(leaning_audits(), st.data())
def test_it_matters_in_no_pair_which_side_is_called_a(records: list[Record], data: st.DataObject) -> None:
    turned = [swapped(record) if data.draw(COIN) else record for record in records]
    with fresh() as (store, _), fresh() as (another, _):
        stored(store, records)
        stored(another, data.draw(st.permutations(turned)))
        assert bias(another).model_dump() == numbers(bias(store).model_dump())


def swapped(record: Record) -> Record:
    """The same pair with its sides called the other way round. A judge that saw A first saw B first then."""
    verdicts = tuple(
        said.model_copy(
            update={
                "winner": SWAPPED[said.winner],
                "order": SWAPPED[said.order],
                "score_a": said.score_b,
                "score_b": said.score_a,
            }
        )
        for said in record.verdicts
    )
    gold = tuple(one.model_copy(update={"pref": SWAPPED[one.pref]}) for one in record.gold)
    a, b = record.episodes
    return record.model_copy(update={"episodes": (b, a), "verdicts": verdicts, "gold": gold})


def planted(number: int, say: Callable[[int], list[Verdict]], **facts: Any) -> list[Record]:
    """Pairs of a task each, in which A and B succeed by turns, and A, then B, is the longer one, two by two."""
    found = []
    for n in range(number):
        sizes = (900, 100) if n % 4 < 2 else (100, 900)
        sides = [
            episode(
                side,
                passed((n % 2 == 0) == (side == "x")),
                task=f"t{n}",
                output_tokens=size,
                **{name: values[place] for name, values in facts.items()},
            )
            for place, (side, size) in enumerate(zip("xy", sizes, strict=True))
        ]
        found.append(pair(f"p{n}", sides[0], sides[1], *say(n), line=n + 1))
    return found


def both(winner: Preference, **facts: Any) -> list[Verdict]:
    return [verdict(winner, "AB", judge=OWN, **facts), verdict(winner, "BA", judge=OWN, **facts)]


def test_a_judge_that_likes_length_stands_out_with_gold_held_fixed(deps: Deps) -> None:
    def say(n: int) -> list[Verdict]:
        gold, long = ("AB"[n % 2], "A" if n % 4 < 2 else "B")
        picked = long if n % 3 else gold
        return both("A" if picked == "A" else "B")

    stored(deps.store, planted(120, say))
    found = bias(deps.store).length
    assert found is not None and found.length_by == "output_tokens"
    assert found.longer.stands_out and found.longer.p is not None and found.longer.p < 1e-6
    odds = found.with_gold_fixed
    assert odds.stands_out or odds.value is None
    assert (found.longer.rate or 0) > 0.8


def test_a_judge_of_success_alone_shows_no_liking_of_length(deps: Deps) -> None:
    right: list[Preference] = ["A", "B"]
    stored(deps.store, planted(120, lambda n: both(right[(n % 2) ^ (n % 7 == 0)])))
    found = bias(deps.store)
    assert found.length is not None and found.position is not None
    assert not found.length.longer.stands_out and not found.length.with_gold_fixed.stands_out
    assert found.length.with_gold_fixed.value == pytest.approx(1, abs=0.9)
    assert not found.position.first.stands_out


def test_accuracy_of_one_half_stands_beside_the_flips_that_make_it_a_constant_answer(deps: Deps) -> None:
    first = [verdict("A", "AB", judge=OWN), verdict("B", "BA", judge=OWN)]
    stored(deps.store, planted(20, lambda _: first))
    found = bias(deps.store).position
    assert found is not None
    assert (found.accuracy.rate, found.flip_rate.rate, found.constant) == (0.5, 1.0, "first")
    assert found.first.rate == 1.0 and found.first.stands_out


def test_words_of_both_languages_are_found_and_no_longer_is_not_about_length(deps: Deps) -> None:
    said = ["A is more DETAILED", "甲的回答更详细，语气更好", "it is no longer open", "礼貌", "退款成功", "nothing"]
    stored(deps.store, planted(6, lambda n: [verdict("A", "AB", judge=OWN, reasons=said[n])]))
    found = bias(deps.store)
    assert found.words is not None
    assert {word.group: word.said.k for word in found.words} == {
        "length": 2,
        "tone": 2,
        "format": 0,
        "confidence": 0,
        "evidence": 1,
    }
    assert all(word.said.n == 6 for word in found.words)


def test_a_word_that_goes_with_wrong_verdicts_stands_out(deps: Deps) -> None:
    def say(n: int) -> list[Verdict]:
        wrong = n % 5 < 2
        right: Preference = "A" if n % 2 == 0 else "B"
        other: Preference = "B" if n % 2 == 0 else "A"
        return both(other if wrong else right, reasons="It is longer." if n % 5 < 3 else "It succeeded.")

    stored(deps.store, planted(100, say))
    words = {word.group: word for word in bias(deps.store).words or ()}
    assert words["length"].stands_out and (words["length"].difference.low or 0) > 0.4
    assert words["evidence"].stands_out and (words["evidence"].difference.high or 0) < -0.4
    assert words["tone"].difference.value is None and not words["tone"].stands_out


@pytest.mark.parametrize("reasons", ["%' OR 1=1 --", "a" * 500_000 + " longer", ":audit {0} \\ \x1b[31m", "更" * 9000])
def test_reasons_of_any_kind_are_counted_and_never_shown(deps: Deps, reasons: str) -> None:
    stored(deps.store, planted(3, lambda _: [verdict("A", "AB", judge=OWN, reasons=reasons)]))
    found = bias(deps.store)
    assert found.words is not None and [word.said.k for word in found.words] == [0, 0, 0, 0, 0]
    assert reasons[:12] not in json.dumps(found.model_dump(), ensure_ascii=False)


def with_other(n: int, mine: Preference, other: Preference) -> list[Verdict]:
    return [verdict(mine, "AB", judge=OWN), verdict(other, "AB", judge=OTHER)]


def test_a_judge_that_prefers_its_own_family_stands_out_beside_one_of_another_family(deps: Deps) -> None:
    def say(n: int) -> list[Verdict]:
        right: Preference = "A" if n % 2 == 0 else "B"
        return with_other(n, "A" if n % 3 else right, right)

    stored(deps.store, planted(60, say, base_model=("gpt-4o-mini", "claude-3-haiku")))
    found = bias(deps.store).self_preference
    assert found is not None and found.excess is not None and found.by_gold is not None
    assert (found.family, found.beside, found.stands_out) == ("openai", "other", True)
    assert found.excess.value == pytest.approx(1 / 3)
    assert found.by_gold.value == pytest.approx(2 / 3)
    theirs = bias(deps.store, "other").self_preference
    assert theirs is not None and (theirs.family, theirs.beside) == ("anthropic", "judge")
    assert theirs.excess is not None and theirs.excess.value == pytest.approx(1 / 3)
    assert theirs.by_gold is not None and theirs.by_gold.value == 0


def test_a_stated_family_stands_above_what_a_name_says(deps: Deps) -> None:
    stored(deps.store, planted(6, lambda n: with_other(n, "A", "B"), base_model=("house-1", "claude-3-haiku")))
    alone = bias(deps.store)
    assert alone.self_preference is None and "own family" in alone.why["self_preference"]
    found = bias(deps.store, house_1="openai").self_preference
    assert found is not None and found.own == clustered_rate(independent(6, 6))


def test_without_another_family_s_judge_the_own_one_is_held_against_gold(deps: Deps) -> None:
    stored(deps.store, planted(24, lambda _: both("A"), base_model=("gpt-4o-mini", "claude-3-haiku")))
    found = bias(deps.store)
    assert found.self_preference is not None and found.self_preference.by_gold is not None
    assert found.self_preference.beside is None and found.self_preference.stands_out
    assert "another family" in found.why["self_preference.excess"]


@pytest.mark.parametrize("params", ["[1]", "nonsense", '{"planted": 3}', '{"planted": {"family": ["x"]}}'])
def test_parameters_of_an_imported_judge_may_be_anything(deps: Deps, params: str) -> None:
    judge = OWN.model_copy(update={"params": params, "model": "nobody's"})
    stored(deps.store, [pair("p", None, None, verdict("A", "AB", judge=judge))])
    assert "family" in bias(deps.store).why["self_preference"]


def test_a_planted_family_is_the_judge_s_own(deps: Deps) -> None:
    judge = OWN.model_copy(update={"params": '{"planted": {"family": "anthropic"}}', "model": "simulated-judge"})
    records = planted(4, lambda _: [verdict("B", "AB", judge=judge)], base_model=("gpt-4o", "claude-3-haiku"))
    stored(deps.store, records)
    found = bias(deps.store).self_preference
    assert found is not None and (found.family, found.own.k) == ("anthropic", 4)


def test_every_part_that_is_missing_says_why(deps: Deps) -> None:
    stored(deps.store, [pair("p", None, None, verdict("A", None, judge=JUDGE))])
    found = bias(deps.store)
    empty = {name for name in BiasSection.model_fields if getattr(found, name) is None}
    assert empty == set(found.why)
    assert {"position", "length", "words", "self_contradiction", "lower_reward_selected", "stability"} <= empty


def test_odds_and_words_without_gold_say_what_they_need(deps: Deps) -> None:
    sides = [episode("x", output_tokens=3), episode("y", output_tokens=4)]
    stored(deps.store, [pair("p", sides[0], sides[1], verdict("A", "AB", judge=OWN, reasons="longer"))])
    found = bias(deps.store)
    assert {"length.with_gold_fixed", "words.difference"} <= found.why.keys()
    assert found.length is not None and found.length.longer.low == 0.0
