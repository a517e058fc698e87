"""`summarize_audit`: its sections, and what stands where there is nothing. Pairs: `test_summary_by_hand`."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import combinations
from math import comb
from statistics import mean
from typing import Any

import pytest
from scipy.stats import binomtest, spearmanr
from sklearn.metrics import roc_auc_score

from builders import JUDGE, episode, label, lone, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.types import Check, Judge, Log, Preference, Record, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK, MARK_EPISODES, MARK_IN_PART
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from misjudge_tools.summarize_audit import SECTIONS, summarize, summarize_audit
from misjudge_tools.summary.values import AuditSummary
from operations import dump, labelled, pair_record, pair_records, stored

OTHER_JUDGE = Judge(label="other", form="pairwise", model="judge-n", origin="imported")


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store)


def test_kappa_names_the_annotator_before_the_judge_and_holds_plain_numbers(deps: Deps) -> None:
    said: list[tuple[Preference, Preference, Preference]] = [("A", "A", "A"), ("B", "A", "B"), ("A", "B", "B")]
    gpt = Judge(label="GPT-4", form="pairwise", origin="imported")
    stored(
        deps.store,
        [
            pair(f"p{n}", None, None, verdict(third, judge=gpt), gold=[label(one, "zoe"), label(two, "ann")])
            for n, (one, two, third) in enumerate(said)
        ],
    )
    kappa = json.loads(summary(deps.store).model_dump_json())["kappa"]
    assert list(kappa) == ["ann|GPT-4", "ann|zoe", "zoe|GPT-4"]
    assert all(isinstance(value, float) for value in kappa.values())


def test_a_majority_of_annotators_is_gold_and_a_three_way_split_is_undecidable(deps: Deps) -> None:
    votes: list[list[Preference]] = [["A", "A", "B"], ["A", "B", "tie"], ["A", "B"], ["tie", "tie", "A"], ["B"]]
    stored(
        deps.store,
        [
            labelled(record, *(label(pref, f"ann{n}") for n, pref in enumerate(prefs)))
            for record, prefs in zip(pair_records(5, lambda n: None), votes, strict=True)
        ],
    )
    found = summary(deps.store)
    assert found.pairs is not None
    assert (found.pairs.n, found.pairs.decidable, found.pairs.gold_tie, found.pairs.gold_unknown) == (5, 2, 1, 2)


def sessions(seed: int, trials: int = 2) -> list[Record]:
    """Episodes of nine agents on five tasks, with rewards, successes, ranks and satisfaction of two judges."""
    rng = random.Random(seed)
    found: list[Record] = []
    gate = Judge(label="gate", form="satisfaction", scale=Scale(low=1, high=7, threshold=5), origin="imported")
    rank = Judge(label="rank", form="satisfaction", scale=Scale(low=1, threshold=3, better="lower"), origin="imported")
    for agent in range(9):
        skill = agent / 10
        for task in range(5):
            for trial in range(trials):
                success = rng.random() < skill
                checks = [passed(success), rewarded(round(skill + rng.random() / 5, 2))]
                score = float(rng.randint(4, 7) if success else rng.randint(1, 6))
                satisfaction = [satisfied(score, gate), satisfied(float(rng.randint(1, 5)), rank)]
                one = episode(f"agent{agent}", *checks, task=f"t{task}", trial=trial, satisfaction=satisfaction)
                found.append(lone(one, line=len(found)))
    return found


def facts(record: Record) -> tuple[bool, dict[str, float]]:
    """Success and the score of each judge."""
    (one,) = record.episodes
    (success,) = [check.passed for check in one.checks if check.passed is not None]
    return success, {score.judge.label: float(score.score or 0) for score in one.satisfaction}


def tallies(records: list[Record], judge: str, bound: float | None) -> list[Tally]:
    """Failures by task; with a bound, among the sessions whose score, turned so that more is better, reaches it."""
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for record in records:
        success, scores = facts(record)
        score = scores[judge] * (1 if judge == "gate" else -1)
        if bound is None or score >= bound:
            found[record.episodes[0].trajectory.task_id].append(success)
    return [Tally(successes.count(False), len(successes)) for successes in found.values()]


@pytest.mark.parametrize(("judge", "threshold", "sign"), [("gate", 5, 1), ("rank", 3, -1)])
def test_satisfaction_is_set_against_success_over_trajectories(
    deps: Deps, judge: str, threshold: float, sign: int
) -> None:
    records = sessions(1)
    stored(deps.store, records)
    found = summary(deps.store, judge=judge).satisfaction
    known = [(success, scores[judge]) for success, scores in map(facts, records)]
    satisfied_ones = [success for success, score in known if sign * score >= sign * threshold]
    failed = satisfied_ones.count(False)
    base = sum(not success for success, _ in known) / len(known)
    other = [success for success, score in known if sign * score < sign * threshold]
    assert found is not None and found.p_fail_given_satisfied is not None
    assert (found.n, found.threshold, found.satisfied, found.satisfied_failed) == (
        90,
        threshold,
        len(satisfied_ones),
        failed,
    )
    assert found.p_fail_given_satisfied == pytest.approx(failed / len(satisfied_ones))
    assert found.satisfied_failed_share_of_all == pytest.approx(failed / 90)
    assert found.base_fail == pytest.approx(base)
    assert found.relative_risk == pytest.approx(failed / len(satisfied_ones) / base)
    assert found.risk_ratio_unsatisfied == pytest.approx(
        (failed / len(satisfied_ones)) / (other.count(False) / len(other))
    )
    every, happy = (tallies(records, judge, bound) for bound in (None, sign * threshold))
    assert found.intervals["base_fail"] == clustered_rate(cluster_sums(every))
    assert found.intervals["p_fail_given_satisfied"] == clustered_rate(cluster_sums(happy))
    successes = [success for success, _ in known]
    assert found.auc == pytest.approx(float(roc_auc_score(successes, [sign * score for _, score in known])))
    rho = float(spearmanr([sign * score for _, score in known], successes).statistic)
    assert found.spearman == pytest.approx(rho)
    test = binomtest(failed, len(satisfied_ones), 0.2, alternative="greater")
    assert found.ceiling == 0.2
    assert found.p_value == pytest.approx(float(test.pvalue))
    assert found.mean_satisfaction == pytest.approx(mean(score for _, score in known))
    assert found.cross_table == {
        "satisfied_failed": failed,
        "satisfied_succeeded": satisfied_ones.count(True),
        "unsatisfied_failed": other.count(False),
        "unsatisfied_succeeded": other.count(True),
    }


@pytest.mark.parametrize(("judge", "sign"), [("gate", 1), ("rank", -1)])
def test_agents_are_ranked_by_their_mean_score_and_reward(deps: Deps, judge: str, sign: int) -> None:
    records = sessions(2)
    stored(deps.store, records)
    found = summary(deps.store, judge=judge).ranking
    rewards: defaultdict[str, list[float]] = defaultdict(list)
    gates: defaultdict[str, list[float]] = defaultdict(list)
    for record in records:
        (one,) = record.episodes
        rewards[one.trajectory.agent] += [check.reward for check in one.checks if check.reward is not None]
        gates[one.trajectory.agent].append(facts(record)[1][judge])
    assert found is not None
    assert (found.agents, found.gate, found.against) == (9, "mean score", "reward")
    assert_ranked(found.model_dump(), rewards, gates, sign)


def assert_ranked(found: Any, rewards: dict[str, list[float]], gates: dict[str, list[float]], sign: int) -> None:
    r = {agent: round(mean(values), 9) for agent, values in rewards.items()}
    g = {agent: round(sign * mean(values), 9) for agent, values in gates.items()}
    agents = sorted(r)
    assert found["spearman"] == pytest.approx(
        float(spearmanr([g[a] for a in agents], [r[a] for a in agents]).statistic)
    )
    for name in ("near", "wide"):
        couples = [
            (a, b)
            for a, b in combinations(agents, 2)
            if r[a] != r[b] and (name == "near") == (round(abs(r[a] - r[b]), 9) < 0.1)
        ]
        wrong = sum((r[a] - r[b]) * (g[a] - g[b]) < 0 for a, b in couples)
        assert (found[name]["k"], found[name]["n"]) == (wrong, len(couples))


def test_agents_without_scores_are_ranked_by_the_share_of_decided_pairs_they_won(deps: Deps) -> None:
    """Trajectories stand in many pairs, and yet count once in their agent's reward."""
    rng = random.Random(3)
    chosen = {(agent, task): round(rng.random(), 2) for agent in range(4) for task in range(3)}
    wins: defaultdict[str, list[float]] = defaultdict(list)
    records = []
    for task in range(3):
        for a, b in [*combinations(range(4), 2), (1, 0)][: 4 + task]:
            side: Preference = rng.choice(["A", "B", "tie"])
            sides = (episode(f"agent{n}", rewarded(chosen[n, task]), task=f"t{task}") for n in (a, b))
            first, second = sides
            records.append(pair(f"{task}:{a}:{b}", first, second, verdict(side, "AB")))
            if side != "tie":
                wins[f"agent{a}"].append(float(side == "A"))
                wins[f"agent{b}"].append(float(side == "B"))
    stored(deps.store, records)
    found = summary(deps.store).ranking
    used: defaultdict[str, set[tuple[int, float]]] = defaultdict(set)
    for record in records:
        assert record.pair is not None
        task, a, b = map(int, str(record.pair.pair_id).split(":"))
        if record.verdicts[0].winner != "tie":
            for n in (a, b):
                used[f"agent{n}"].add((task, chosen[n, task]))
    rewards = {agent: [reward for _, reward in kept] for agent, kept in used.items()}
    assert found is not None and found.gate == "win share"
    assert_ranked(found.model_dump(), rewards, wins, 1)


def test_pass_hat_k_is_given_by_agent_where_there_are_several(deps: Deps) -> None:
    records = sessions(4, trials=3)
    stored(deps.store, records)
    found = summary(deps.store)
    successes: defaultdict[tuple[str, str], int] = defaultdict(int)
    for record in records:
        (one,) = record.episodes
        successes[one.trajectory.agent, one.trajectory.task_id] += facts(record)[0]
    assert found.pass_hat_k is None and found.why["pass_hat_k"].startswith("There are several agents")
    assert found.pass_hat_k_by_agent is not None and len(found.pass_hat_k_by_agent) == 9
    for agent, shares in found.pass_hat_k_by_agent.items():
        for k, rate in shares.items():
            expected = mean(comb(successes[agent, f"t{task}"], int(k)) / comb(3, int(k)) for task in range(5))
            assert rate == pytest.approx(expected)


def test_pass_hat_k_of_one_agent_stands_at_the_top_with_intervals(deps: Deps) -> None:
    won = [[True, True], [True, False], [False, False]]
    stored(
        deps.store,
        [
            lone(episode("x", passed(success), task=f"t{task}", trial=trial), line=10 * task + trial)
            for task, trials in enumerate(won)
            for trial, success in enumerate(trials)
        ],
    )
    found = summary(deps.store)
    assert found.pass_hat_k == pytest.approx({"1": 0.5, "2": 1 / 3})
    assert found.pass_hat_k_intervals is not None
    two = found.pass_hat_k_intervals["2"]
    assert (two.k, two.tasks) == (2, 3) and two.low < 1 / 3 < two.high


LISTED = {
    "pairs": ["n", "decidable", "gold_tie", "gold_unknown", "scored", "tie", "inconsistent", "unscored"],
    "misselection": ["rate", "k", "n", "low", "high", "decided", "all_pairs_rate"],
    "consistency": ["flip_rate", "soft_flip_rate", "letter_a_share", "accuracy", "agreement", "vote_accuracy"],
    "satisfaction": [
        *("threshold", "satisfied", "satisfied_failed", "p_fail_given_satisfied", "satisfied_failed_share_of_all"),
        *("base_fail", "relative_risk", "auc", "p_value", "ceiling"),
    ],
    "ranking": ["spearman", "near", "wide"],
    "pass_hat_k": ["1"],
    "kappa": ["ann|judge"],
    "unscored": ["timeout"],
    "cost": ["by_role"],
}


def everything() -> list[Record]:
    """An audit in which every section has something to say, of one judge for pairs and satisfaction alike."""
    found = []
    happy = Judge(label="judge", form="satisfaction", model="judge-m", scale=Scale(low=0, high=1, threshold=0.8))
    for n in range(6):
        sides = [
            episode(
                f"x{n}{side}",
                passed(n % 2 == side),
                rewarded(n / 10),
                task=f"t{n}",
                satisfaction=[satisfied(0.9, happy)],
            )
            for side in range(2)
        ]
        said = [verdict("A", "AB", score_a=4, score_b=1), verdict(("B" if n % 2 else "A") if n else None, "BA")]
        if not n:
            said[1] = said[1].model_copy(update={"unscored_reason": "timeout"})
        logs = [Log(role="judge", input_tokens=10, output_tokens=2, est_cost=0.5, price_source="list")]
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=[label("A")], logs=logs, ability_bucket="near"))
    return found


def test_the_json_has_the_names_that_scripts_rely_on(deps: Deps) -> None:
    stored(deps.store, everything())
    found = json.loads(summary(deps.store).model_dump_json())
    assert list(found)[:2] == ["schema", "audit"] and found["schema"] == 1
    assert found["judge"] == "judge" and found["judges"] is None
    for section, names in LISTED.items():
        if section == "pass_hat_k":
            section = "pass_hat_k_by_agent"
            found[section] = next(iter(found[section].values()))
        assert [name for name in found[section] if name in names] == names, section
    assert list(found["misselection"]["decided"]) == ["rate", "k", "n", "low", "high", "coverage"]
    for near_or_wide in ("near", "wide"):
        assert list(found["ranking"][near_or_wide]) == ["rate", "k", "n", "low", "high"]
    assert {*SECTIONS, "why"} <= found.keys()
    assert {"gap", "bucket", "range", "n", "decidable", "misselection"} == found["buckets"][0].keys()
    assert json.dumps(found, allow_nan=False)


def test_a_section_without_data_is_null_and_says_why(deps: Deps) -> None:
    stored(deps.store, [])
    found = summary(deps.store)
    assert all(getattr(found, name) is None for name in SECTIONS if name != "unscored")
    assert set(SECTIONS) - {"unscored"} == found.why.keys()
    assert all(reason.endswith(".") for reason in found.why.values())
    assert (found.judge, found.judges, found.unscored) == (None, None, {})


@pytest.mark.parametrize(
    ("records", "section", "reason"),
    [
        (list(pair_records(1)), "misselection", "No judge is stored"),
        ([pair("p", None, None, verdict("A"))], "misselection", "No pair is decidable"),
        ([pair("p", None, None, verdict("A"))], "satisfaction", "No satisfaction was judged"),
        ([pair("p", None, None, verdict("A"))], "ranking", "at least 3 agents"),
        ([pair("p", None, None, verdict("A"))], "pass_hat_k", "No agent has numbered trials"),
        ([pair("p", None, None, verdict("A"))], "kappa", "No two labellers"),
        ([pair("p", None, None, verdict("A"))], "buckets", "No gap is known"),
        ([pair("p", None, None, verdict("A"))], "tokens", "No call is logged and no episode"),
        ([pair("p", None, None, verdict("A"))], "cost", "No call is logged"),
        ([lone(episode("x", satisfaction=[satisfied(0.9)]))], "pairs", "This judge judged no pair"),
        ([lone(episode("x", satisfaction=[satisfied(0.9)]))], "satisfaction", "known outcome"),
        ([lone(episode("x", passed(True)))], "pairs", "No pair is stored"),
    ],
)
def test_the_reason_says_what_is_missing(deps: Deps, records: list[Record], section: str, reason: str) -> None:
    stored(deps.store, records)
    found = summary(deps.store)
    assert getattr(found, section) is None
    assert reason in found.why[section]


async def test_only_the_sections_asked_for_are_given(deps: Deps) -> None:
    stored(deps.store, [*everything(), pair("more", None, None, verdict("A", judge=OTHER_JUDGE))])
    whole = summary(deps.store)
    request = SummarizeRequest(audit="a", sections=["consistency", "pass_hat_k"])
    found = await summarize_audit(request, deps)
    assert found.judges is not None and whole.judges is not None
    assert found.pass_hat_k_by_agent == whole.pass_hat_k_by_agent
    assert found.why.keys() <= {"consistency", "pass_hat_k"}
    for name, sections in found.judges.items():
        assert sections.consistency == whole.judges[name].consistency
        for other in set(SECTIONS) - {"consistency", "pass_hat_k"}:
            assert getattr(sections, other) is None
    assert summary(deps.store, sections=[]) == whole
    with pytest.raises(InvalidInput, match=r"no section 'nope'\. Sections are: headline, provenance, pairs"):
        summary(deps.store, sections=["nope"])


def test_several_judges_stand_side_by_side_and_one_can_be_chosen(deps: Deps) -> None:
    both = [verdict("A", "AB"), verdict("A", "BA"), verdict("B", judge=OTHER_JUDGE)]
    stored(deps.store, [pair(f"p{n}", None, None, *both[: 2 + n % 2], gold=[label("A")]) for n in range(6)])
    found = summary(deps.store)
    assert found.judge is None and found.misselection is None
    assert "judge=LABEL" in found.why["misselection"]
    assert found.pairs is not None and found.pairs.model_dump(exclude_none=True) == {
        "n": 6, "decidable": 6, "gold_tie": 0, "gold_unknown": 0
    }  # fmt: skip
    assert found.judges is not None and list(found.judges) == ["judge", "other"]
    assert (found.judges["judge"].pairs, found.judges["other"].pairs) == (
        summary(deps.store, judge="judge").pairs,
        summary(deps.store, judge="other").pairs,
    )
    one = summary(deps.store, judge="other")
    assert (one.judge, one.judges) == ("other", None)
    assert one.misselection is not None and (one.misselection.k, one.misselection.n) == (3, 3)
    assert one.kappa == pytest.approx({"ann|other": 0, "judge|other": 0}), "only its own couples"
    with pytest.raises(NotFound, match=r"has no judge 'gpt'\. Its labels are: judge, other"):
        summary(deps.store, judge="gpt")


def in_subset(record: Record, subset: str) -> Record:
    assert record.task is not None
    return record.model_copy(update={"task": record.task.model_copy(update={"subset": subset})})


def test_subsets_stand_beside_their_judge_and_say_only_what_is_counted_by_pair(deps: Deps) -> None:
    records = [
        in_subset(
            pair(
                f"p{n}",
                episode("x", passed(True), task=f"t{n}"),
                episode("y", passed(False), task=f"t{n}"),
                verdict("A" if n < 4 else None, "AB"),
                logs=[Log(input_tokens=1)],
            ),
            "easy" if n < 2 else "hard",
        )
        for n in range(6)
    ]
    stored(deps.store, records)
    found = summary(deps.store)
    assert found.judges is not None and list(found.judges) == ["judge", "judge/easy", "judge/hard"]
    hard = summary(deps.store, judge="judge/hard")
    assert hard.pairs is not None and (hard.pairs.n, hard.pairs.unscored) == (4, 2)
    assert hard.misselection is not None and (hard.misselection.k, hard.misselection.n) == (0, 2)
    for whole_only in ("satisfaction", "ranking", "kappa", "unscored", "tokens", "cost"):
        assert getattr(hard, whole_only) is None
        assert hard.why[whole_only].startswith("Given for the judge as a whole")
    assert summary(deps.store, judge="judge").unscored == {"parse_error": 2}


def test_a_judge_of_one_subset_alone_stands_at_the_top(deps: Deps) -> None:
    stored(deps.store, [in_subset(pair("p", None, None, verdict("A")), "only")])
    found = summary(deps.store)
    assert (found.judge, found.judges) == ("judge", None)


def test_many_labellers_ask_for_one_judge(deps: Deps) -> None:
    gold = [label("A", f"ann{n:02}") for n in range(13)]
    stored(deps.store, [pair("p", None, None, verdict("A"), verdict("B", judge=OTHER_JUDGE), gold=gold)])
    found = summary(deps.store)
    assert found.kappa is None and found.why["kappa"].startswith("There are 15 labellers; choose one judge")
    one = summary(deps.store, judge="other").kappa
    assert one is not None and len(one) == 14


def test_labellers_whose_votes_were_only_kept_as_split_are_undecidable_and_no_labeller(deps: Deps) -> None:
    stored(deps.store, [pair("p", None, None, verdict("A"), gold=[label("split", "imported")])])  # type: ignore[arg-type]
    found = summary(deps.store)
    assert found.pairs is not None and found.pairs.decidable == 0
    assert found.kappa is None


def test_a_gap_that_floating_point_puts_beside_its_cut_is_on_the_right_side(deps: Deps) -> None:
    rewards = [(0.8, 0.6), (0.9, 0.4), (1.4, 0.4), (0.6, 0.3)]
    stored(
        deps.store,
        [
            pair(
                f"p{n}",
                episode("x", rewarded(a), task=f"t{n}"),
                episode("y", rewarded(b), task=f"t{n}"),
                verdict("A"),
                reward_gap=0.3 - 0.2,
                gap_source="ability",
            )
            for n, (a, b) in enumerate(rewards)
        ],
    )
    found = {(one.gap, one.bucket): one.n for one in summary(deps.store).buckets or ()}
    assert found == {
        ("ability", "wide"): 4,
        ("reward", "near"): 1,
        ("reward", "small"): 2,
        ("reward", "medium"): 1,
    }


def test_binary_rewards_make_no_buckets_and_a_models_check_is_no_reward(deps: Deps) -> None:
    def two(n: int, *more: Check) -> Record:
        sides = (episode("x", rewarded(1.0), *more, task=f"t{n}"), episode("y", rewarded(0.0), task=f"t{n}"))
        return pair(f"p{n}", sides[0], sides[1], verdict("A"))

    stored(deps.store, [two(0), two(1, Check(verifier="m", source="model", reward=0.5))])
    assert summary(deps.store).buckets is None
    stored(deps.store, [pair("graded", episode("x", rewarded(0.4), task="g"), episode("y", rewarded(1.0), task="g"))])
    assert {one.gap for one in summary(deps.store).buckets or ()} == {"reward"}


def test_tokens_and_cost_are_summed_by_role_and_what_is_unknown_is_null_and_counted(deps: Deps) -> None:
    logs = [
        Log(role="judge", input_tokens=10, output_tokens=1, est_cost=0.25, price_source="list"),
        Log(role="judge", input_tokens=5, output_tokens=None, est_cost=0.5, price_source="imported"),
        Log(role="judge"),
        Log(role="user_sim"),
        Log(role="agent", est_cost=0.0, price_source="free"),
    ]
    said = episode("x", task="t", input_tokens=700, logs=logs)
    stored(deps.store, [pair("p", said, episode("y", task="t"), verdict("A"))])
    found = summary(deps.store)
    assert found.tokens is not None and found.cost is not None
    assert {role: tuple(use.model_dump().values()) for role, use in found.tokens.by_role.items()} == {
        "agent": (1, None, None, 1),
        "judge": (3, 15, 1, 2),
        "user_sim": (1, None, None, 1),
    }
    assert found.tokens.stated_by_source == {"trajectories": 1, "input_tokens": 700, "output_tokens": None}
    assert found.cost.by_role == {"agent": 0.0, "judge": 0.75, "user_sim": None}
    assert found.cost.calls_without_price == {"agent": 0, "judge": 1, "user_sim": 1}
    assert found.cost.price_sources == {"agent": ("free",), "judge": ("imported", "list"), "user_sim": ()}


def test_each_of_several_judges_has_its_own_calls_and_the_rest_stands_at_the_top(deps: Deps) -> None:
    log = [Log(input_tokens=10, output_tokens=1, est_cost=0.5)]
    stored(
        deps.store,
        [
            pair("p1", episode("x", task="a"), episode("y", task="a"), verdict("A"), logs=log),
            pair("p2", episode("x", task="b"), episode("y", task="b"), verdict("A", judge=OTHER_JUDGE), logs=log),
            lone(episode("z", task="c", input_tokens=9, logs=[Log(role="agent", est_cost=0.25)])),
        ],
    )
    found = summary(deps.store)
    assert found.judges is not None and found.cost is not None and found.tokens is not None
    assert found.cost.by_role == {"agent": 0.25, "judge": 1.0}
    assert found.tokens.stated_by_source is not None
    for sections in found.judges.values():
        assert sections.cost is not None and sections.cost.by_role == {"judge": 0.5}
        assert sections.tokens is not None and sections.tokens.stated_by_source is None


def test_made_up_results_are_marked_and_real_ones_beside_them_are_not(deps: Deps) -> None:
    made_up = Judge(label="made up", form="pairwise", simulated=True)
    stored(deps.store, [pair("p", None, None, verdict("A"), verdict("A", judge=made_up))])
    found = summary(deps.store)
    assert (found.simulated, found.marked) == (True, MARK_IN_PART)
    assert found.judges is not None
    assert {name: sections.simulated for name, sections in found.judges.items()} == {"judge": False, "made up": True}
    assert (summary(deps.store, judge="judge").marked, summary(deps.store, judge="made up").marked) == (None, MARK)
    trajectory = episode("s", task="made-up task", simulated=True)
    stored(deps.store, [lone(trajectory)])
    marked = [summary(deps.store, judge=judge).marked for judge in (None, "judge", "made up")]
    assert marked == [f"{MARK_IN_PART}; {MARK_EPISODES}", MARK_EPISODES, f"{MARK}; {MARK_EPISODES}"]


def test_an_unknown_audit_is_refused(deps: Deps) -> None:
    with pytest.raises(NotFound, match="No audit is called 'a'"):
        summary(deps.store)


def test_a_summary_leaves_the_store_as_it_was_and_can_be_repeated(deps: Deps) -> None:
    stored(deps.store, everything())
    before = dump(deps.store)
    first = summary(deps.store)
    assert summary(deps.store) == first
    assert dump(deps.store) == before


def test_pairs_that_no_judge_saw_are_counted_in_the_audit_and_not_in_the_judge(deps: Deps) -> None:
    record = pair_record("judged", "Do it.", ("x", "y"), "A")
    stored(deps.store, [record.model_copy(update={"verdicts": (verdict("A", judge=JUDGE),)}), *pair_records(3)])
    stored(deps.store, [pair("other", episode("x", task="o"), episode("y", task="o"), verdict("A", judge=OTHER_JUDGE))])
    found = summary(deps.store)
    assert found.pairs is not None and found.judges is not None
    assert (found.pairs.n, found.pairs.decidable) == (5, 4)
    assert {name: one.pairs.n for name, one in found.judges.items() if one.pairs} == {"judge": 1, "other": 1}
