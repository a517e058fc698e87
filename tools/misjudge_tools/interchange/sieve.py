"""The records of one file on their way into an audit: the good ones, what is wrong with the others, what to warn of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from misjudge_storage.types import BadRecord, Episode, Record
from misjudge_tools.interchange.named_lines import MOST_NAMED, named_lines
from misjudge_tools.interchange.verdict_words import VerdictWords
from misjudge_tools.rubrics.rules import cites_response

NAMED = 10
"""Different problems that an error or report spells out."""
RECORDED = 1_000
"""Problems that are kept with an import of the other records."""


class Sieve:
    """Passes good records on and keeps count: of the bad ones, of verdicts that mean nothing, and of gold rules.

    Without `keep_going` the first bad record ends what is passed on, since nothing will be stored; the rest is
    still read, so that the error can name more than one. `words` are counted by the reader of a table.
    """

    def __init__(self, records: Iterable[Record | BadRecord], words: VerdictWords, *, keep_going: bool) -> None:
        self.words = words
        self.good = 0
        self.bad = 0
        self.verdicts = 0
        self.unscored = 0
        self.of_episodes = 0
        self.without_rules = 0
        self.citing = 0
        self.problems: list[str] = []
        self._lines: dict[str, list[int]] = {}
        self._numbers: Counter[str] = Counter()
        self._records = records
        self._keep_going = keep_going

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            if isinstance(record, BadRecord):
                self._note(record)
            elif self._keep_going or not self.bad:
                self.good += 1
                self.verdicts += len(record.verdicts)
                self.unscored += sum(verdict.status == "unscored" for verdict in record.verdicts)
                self.of_episodes += any(map(_tells_success, record.episodes))
                self.without_rules += not record.rubric
                self.citing += sum(cites_response(rule.text) for rule in record.rubric)
                yield record

    def _note(self, bad: BadRecord) -> None:
        self.bad += 1
        if len(self.problems) < RECORDED:
            self.problems.append(f"line {bad.line}: {bad.problem}")
        if bad.problem in self._numbers or len(self._numbers) < NAMED:
            self._numbers[bad.problem] += 1
            lines = self._lines.setdefault(bad.problem, [])
            if len(lines) < MOST_NAMED:
                lines.append(bad.line)

    @property
    def named(self) -> int:
        """How many bad records the `complaints` are of."""
        return self._numbers.total()

    def complaints(self) -> tuple[str, ...]:
        """The first different problems, each once, with the lines of its records."""
        return tuple(f"{named_lines(lines, self._numbers[said])}: {said}" for said, lines in self._lines.items())


def _tells_success(episode: Episode) -> bool:
    return bool(episode.satisfaction) or any(check.passed is not None for check in episode.checks)
