"""What an audit says of rubrics, as values: part of the JSON that people's scripts read. Rates are shares 0 to 1.

Where tasks come in several domains, `…_by_domain` holds the same rows once more for each of them.
"""

from __future__ import annotations

from typing import Literal

from misjudge_storage.types import Value
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Count, Rate, Share
from misjudge_tools.stats.rubrics import Estimate

Protocol = Literal["both_orders", "official"]
"""`official` is RubricBench's: side A first, no ties, what cannot be parsed is wrong. Ours has both orders."""
SourceKind = Literal["none", "self", "human", "library"]


class WriterScores(Value):
    """How well the rules of one writer stand for the gold ones, over `samples`; see `stats.rubrics`.

    Recall is over the samples all of whose rules were answered: `matched_gold` of `total_gold`. The rate of
    hallucination is over all answered ones of `total_generated` rules; `unscored_rules` have no answer. Of a writer
    whom nobody matched, only what it generated is known. `precision` is None where nothing was generated.
    """

    writer: str
    matcher: str | None
    domain: str | None = None
    samples: Count
    recall: Rate
    hallucination_rate: Rate
    precision: Share | None
    structural_f1: Estimate
    matched_gold: Count
    total_gold: Count
    total_generated: Count
    unscored_rules: Count


class WriterRow(WriterScores):
    """A writer on all samples. `macro_…` are means of samples, where the others pool all rules.

    Left out of recall are `unscored_drafts`, which could not be read, `incomplete` samples, of which a rule has no
    answer, and `without_gold`, tasks without gold rules. `recall_at_least` and `recall_at_most` are what recall would
    be with the incomplete ones, were none or all of the missing answers hits; None where there are none. Samples with
    `nothing_generated` have recall 0. `duplicates` were removed; `compound` rules may hold several constraints.
    `equal_matches` were found by their wording, `asked_matches` are answers of the matcher.
    """

    macro_recall: Estimate
    macro_hallucination_rate: Estimate
    macro_structural_f1: Estimate
    drafts: Count
    unscored_drafts: Count
    incomplete: Count
    without_gold: Count
    recall_at_least: Share | None = None
    recall_at_most: Share | None = None
    nothing_generated: Count
    duplicates: Count
    compound: Count
    equal_matches: Count
    asked_matches: Count


class WriterDifference(Value):
    """A writer beside `best`, the one of the best recall by the same `matcher`.

    `recall_difference` is the recall of `writer` minus that of `best`, over the gold rules (its n) of the `tasks` all
    of whose rules were answered for both; its interval counts tasks as clusters. Of these gold rules `only_writer` are
    hit by the one alone, and `only_best` by the other. Where the interval holds 0, the two cannot be told apart.
    """

    writer: str
    best: str
    matcher: str
    tasks: Count
    recall_difference: Effect
    only_writer: Count
    only_best: Count


class DisputedText(Value):
    """A generated rule that two matchers answered differently, with the gold rule of each, None where it has none."""

    rule: str
    first_gold: str | None
    second_gold: str | None


class DisputedSample(Value):
    """A sample whose recall differs by more than 0.20 between two matchers, and the rules that they answer differently;
    `more_rules` counts those that are not shown.
    """

    task: str
    first_recall: Share
    second_recall: Share
    rules: tuple[DisputedText, ...]
    more_rules: Count = 0


class MatcherCheck(Value):
    """Two matchers on the same generated rules of one writer.

    `agreement` is how often both answer a rule alike when asked. `recall_difference` is that of the first minus that of
    the second over the gold rules of the `samples` that both answered whole; `disputed` counts those whose recall
    differs by more than 0.20, of which `examples` shows the first, the most different ones.
    """

    writer: str
    first: str
    second: str
    samples: Count
    agreement: Rate
    recall_difference: Effect
    disputed: Count
    examples: tuple[DisputedSample, ...]


class AccuracyRow(Value):
    """How often a judge with rules of one source is right, over decidable pairs; intervals count tasks as clusters.

    In `accuracy` a tie and an inconsistent verdict are not right; an unscored one is left out of it, but counts as
    wrong in the official protocol where a reply came that cannot be read. `decided_accuracy` leaves them all out. Of
    the `unscored` pairs, `no_rubric` had no rule to be judged by: that they are left out is kind to a writer that
    writes nothing.

    `judge` and `source` are what people call the two, and tell all rows of one protocol apart. `judge` is the label of
    the judge without rules, with the language in brackets where it was asked in several; `source` is none,
    self[WRITER], human, or the name of a rubric of the library, with its version where there are several. `label` is
    that of the judge with these rules.
    """

    judge: str
    source: str
    kind: SourceKind
    protocol: Protocol
    label: str
    domain: str | None = None
    pairs: Count
    right: Count
    wrong: Count
    tie: Count
    inconsistent: Count
    unscored: Count
    no_rubric: Count
    accuracy: Rate
    decided_accuracy: Rate


class GapRow(PairedDifference):
    """Accuracy with rules of the `first` source minus that with the `second`, on the pairs that count for both: in the
    official protocol all that have both, else those that are scored with both.

    human − self is the rubric gap: what is lost because the writer, and not the judge, falls short. Of the library a
    rubric stands beside human ones, none, and its older versions. `judge`, `first` and `second` are as in accuracy.
    """

    judge: str
    protocol: Protocol
    first: str
    second: str
    first_kind: SourceKind
    second_kind: SourceKind
    first_label: str
    second_label: str
    rubric_gap: bool
    domain: str | None = None


class InversionExample(Value):
    """A pair on which the own rules prefer the side that gold says is worse, though it fails `rule`, a high-level gold
    rule that no own rule means. `hits` are the gold rules that own ones mean, as far as shown.
    """

    pair: str
    task: str
    rule: str
    hits: tuple[str, ...]


class InversionRow(Value):
    """Value inversion by the rules of one writer, as one matcher matched them, by the judge that is `label`.

    From all pairs to those of which it can be told: of the decidable `pairs` that the judge was asked about with its
    own rules, `with_high_level` are of tasks with high-level gold rules, and of these `decided` have a verdict for one
    side. Of `untold` ones a match or a verdict on a high-level rule is missing, or the orders disagree on it; the rest
    is the n of `inverted`.

    `inverted` are those on which the verdict prefers the gold loser while that side fails a high-level gold rule that
    the own ones lack. A side fails a rule where all readable verdicts of the same judge with the gold rules say so, in
    both orders. `of_wrong` is the share among the wrong verdicts.
    """

    judge: str
    protocol: Protocol
    label: str
    writer: str
    matcher: str
    pairs: Count
    with_high_level: Count
    decided: Count
    inverted: Rate
    of_wrong: Rate
    untold: Count
    examples: tuple[InversionExample, ...]


class ConflictRow(Value):
    """Verdicts of a judge against what its own verdicts on the rules come to, over the rulings where both are known.

    `soft_over_hard` went for what fails a hard rule, `reweighted` against the count of soft rules. Over all `rulings`,
    `left_out` rules were not shown and `unscored_rules` got no readable verdict. `form` tells a judge of pairs from one
    of single responses, which may bear the same label.
    """

    judge: str
    source: str
    label: str
    form: Literal["pairwise", "rubric"]
    rulings: Count
    soft_over_hard: Rate
    reweighted: Rate
    left_out: Count
    unscored_rules: Count


class RubricsSection(Value):
    """What rubric work comes to. `advice` says what follows, with the numbers that say so; `simulated` are the writers,
    matchers and judges, by label, whose part in it is made up. Where not all of it was asked for, `parts` names what
    was, each perhaps with the place of its first row from 0 (`writers.7`); the others are empty.
    """

    parts: tuple[str, ...] = ()
    advice: tuple[str, ...]
    simulated: tuple[str, ...]
    writers: tuple[WriterRow, ...]
    writer_differences: tuple[WriterDifference, ...]
    gaps: tuple[GapRow, ...]
    accuracy: tuple[AccuracyRow, ...]
    inversions: tuple[InversionRow, ...]
    conflicts: tuple[ConflictRow, ...]
    checks: tuple[MatcherCheck, ...]
    writers_by_domain: tuple[WriterScores, ...] = ()
    gaps_by_domain: tuple[GapRow, ...] = ()
    accuracy_by_domain: tuple[AccuracyRow, ...] = ()
