"""What a pair of a reduced audit may be: few kinds, however many pairs there are.

A kind is what the calls of one judge come to (a pattern), and what gold says. The numbers of these two, as one (its
key), hold all that it follows from, so that the rules of the views `reduced_verdicts` and `pair_gold` are applied once
a kind, not a pair.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, text

from misjudge_storage.temporary import KEYED

KINDS = "audit_kinds"
KEYS = "audit_kind_keys"
PATTERNS = "audit_patterns"
SLOTS = ("ab", "ba", "un", "bo")
"""The orders of calls: AB, BA, one that the source does not name, and both, as reduced by the source."""
NO_CALLS = 0
"""The number of the pattern of a pair that nobody judged."""
MOST_CALLS = 2047
"""Of one judge on one pair: a slot's counts are fields of one number, and a row for both orders counts as two."""

_SLOTS = ", ".join(SLOTS)
_BITS = {"ab": 15, "ba": 15, "un": 15, "bo": 12}
_FIELDS = ("a", "b", "tie", "unscored", "weak")
_OUTCOMES, _SIGNS, _LABELS = 15, 4, 5
_GOLDS = 1 << 15
"""More than there are numbers of gold. Those of patterns have 48 bits, so that a key is a number of 63."""
_SOURCES = {1: "human", 2: "verifier", 3: "label", 4: "reward"}
OUTCOME = "{rank} * 3 + {success} + 1"
"""What is known of an episode's success as one number below 15, by the rank of its source, 1 to 4; 0 is nothing."""
PREFERENCES = {"A": 1, "B": 2, "tie": 3, "split": 4}
"""What labellers say of a pair, as numbers; 0 stands for nothing."""


def _unit(slot: str, field: str) -> int:
    return int(1 << _BITS[slot] * _FIELDS.index(field))


def call(slot: str) -> str:
    """What one verdict adds to a slot, as SQL on a row of `verdicts`: nothing where it is of another."""
    one = {field: _unit(slot, field) for field in (_FIELDS if slot == "bo" else _FIELDS[:4])}
    winner = f"CASE winner WHEN 'A' THEN {one['a']} WHEN 'B' THEN {one['b']} ELSE {one['tie']} END"
    if slot != "bo":
        return f"CASE WHEN {_SHOWN[slot]} AND NOT reduced THEN {_said(one)} END"
    return f"""
        CASE WHEN NOT reduced THEN NULL
            WHEN status = 'unscored' THEN {2 * one["unscored"]} WHEN status = 'inconsistent' THEN {one["a"] + one["b"]}
            WHEN status = 'weak' THEN {winner} + {one["tie"] + one["weak"]} ELSE 2 * ({winner}) END
    """


_SHOWN = {"ab": "order_shown = 'AB'", "ba": "order_shown = 'BA'", "un": "order_shown IS NULL"}


def _said(one: Mapping[str, int]) -> str:
    read = f"WHEN 'A' THEN {one['a']} WHEN 'B' THEN {one['b']} WHEN 'tie' THEN {one['tie']}"
    return f"CASE winner {read} ELSE {one['unscored']} END"


_SHORT_BITS = 6
_MOST_SHORT = (1 << _SHORT_BITS) - 1
_SHORT_PLACES = {(slot, field): 4 * s + f for s, slot in enumerate(("ab", "ba")) for f, field in enumerate(_FIELDS[:4])}
TOO_LONG = -1
"""In place of a pattern's short number, where it has none."""


def _short(slot: str) -> str:
    return _said({field: 1 << _SHORT_BITS * _SHORT_PLACES[slot, field] for field in _FIELDS[:4]})


# An order that is not known makes the sum so large that no orders that are known could.
_ALL_SHORT = f"SUM(CASE order_shown WHEN 'AB' THEN {_short('ab')} WHEN 'BA' THEN {_short('ba')} ELSE 1e300 END)"
SHORT = f"""
    CASE WHEN COUNT(*) > {_MOST_SHORT} OR {_ALL_SHORT} >= {1 << _SHORT_BITS * len(_SHORT_PLACES)} THEN {TOO_LONG}
        ELSE CAST({_ALL_SHORT} AS BIGINT) END
"""
"""The number of the pattern of up to 63 calls in known orders, as SQL on rows of `verdicts`; else `TOO_LONG`."""


def key(pattern: str, gold: str) -> str:
    """The key of a kind, as SQL; below 0 where the pattern is `TOO_LONG`."""
    return f"{pattern} * {_GOLDS} + ({gold})"


def gold_number(a: str, b: str, reward_lead: str, human: str, label: str) -> str:
    """What gold goes by as one number, as SQL: two outcomes (see `OUTCOME`), rewards and labels."""
    sign = f"CASE WHEN {reward_lead} > 0 THEN 1 WHEN {reward_lead} < 0 THEN 2 WHEN {reward_lead} = 0 THEN 3 ELSE 0 END"
    number = f"({a} * {_OUTCOMES} + {b}) * {_SIGNS} + {sign}"
    return f"(({number}) * {_LABELS} + COALESCE({human}, 0)) * {_LABELS} + COALESCE({label}, 0)"


_CALLS = "(calls_a + calls_b + calls_tie)"
_RIGHT = "CASE gold WHEN 'A' THEN calls_a WHEN 'B' THEN calls_b ELSE 0 END"
_WRONG = "CASE gold WHEN 'A' THEN calls_b WHEN 'B' THEN calls_a ELSE 0 END"
_RIGHT_AB = "CASE gold WHEN 'A' THEN ab_a WHEN 'B' THEN ab_b ELSE 0 END"
_RIGHT_BA = "CASE gold WHEN 'A' THEN ba_a WHEN 'B' THEN ba_b ELSE 0 END"
_DECIDED = "decidable = 1 AND pref <> 'tie'"
_BOTH = "CASE WHEN both_orders = 1 AND status <> 'unscored' THEN 1 ELSE 0 END"


def _when(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


_MEASURES: Mapping[str, tuple[str, str]] = {
    "wrong_calls": (_WRONG, f"decidable * {_CALLS}"),
    "wrong_pairs": (_when(f"{_DECIDED} AND pref <> gold"), _when(_DECIDED)),
    "flips": (_when("both_orders = 1 AND status = 'inconsistent'"), _BOTH),
    "soft_flips": (_when("both_orders = 1 AND status = 'weak'"), _BOTH),
    "agreements": (_when("both_orders = 1 AND status IN ('decided', 'tie')"), _BOTH),
    "letter_a": ("ab_a + ba_b", "ab_a + ab_b + ba_a + ba_b"),
    "right": (_RIGHT, f"decidable * {_CALLS}"),
    "right_ab": (_RIGHT_AB, "decidable * (ab_a + ab_b + ab_tie)"),
    "right_ba": (_RIGHT_BA, "decidable * (ba_a + ba_b + ba_tie)"),
    "votes": (_when(f"decidable = 1 AND ({_RIGHT}) > ({_WRONG})"), "decidable"),
    "undecided": (f"decidable - {_when(_DECIDED)}", "decidable"),
    "unread": ("calls_unscored", f"{_CALLS} + calls_unscored"),
}
MEASURES: Mapping[str, tuple[str, str]] = {name: (f"k_{name}", f"n_{name}") for name in _MEASURES}
"""Name → the columns k and n of one pair. `right` holds every call, also of unknown order; `right_ab`, `right_ba` those
of one.
"""
_TALLIES: Mapping[str, str] = {
    "pairs": "1",
    "decidable": "decidable",
    "gold_tie": _when("gold = 'tie'"),
    "gold_unknown": _when("gold IS NULL"),
    "scored": _when("status <> 'unscored'"),
    "tie": _when("status = 'tie'"),
    "inconsistent": _when("status = 'inconsistent'"),
    "unscored": _when("status = 'unscored'"),
    "weak": _when("status = 'weak'"),
}
TALLIES: Mapping[str, str] = {name: f"c_{name}" for name in _TALLIES}
"""Field of `GroupCounts` → the column that counts it, in the order of the fields."""

_PLAIN: Mapping[str, str] = {
    "gold": "VARCHAR",
    "gold_source": "VARCHAR",
    "decidable": "INTEGER NOT NULL",
    "success_a": "INTEGER",
    "success_b": "INTEGER",
    "status": "VARCHAR",
    "pref": "VARCHAR",
    "both_orders": "INTEGER NOT NULL",
    **dict.fromkeys(("calls_a", "calls_b", "calls_tie", "calls_unscored"), "INTEGER"),
    **{f"{order}_{said}": "INTEGER NOT NULL" for order in ("ab", "ba") for said in ("a", "b", "tie")},
}
_COUNTED: Mapping[str, str] = {
    **{f"{part}_{name}": said for name, two in _MEASURES.items() for part, said in zip("kn", two, strict=True)},
    **{TALLIES[name]: said for name, said in _TALLIES.items()},
}
COLUMNS = (*_PLAIN, *_COUNTED)
"""What is known of a kind, and so of a pair."""


def hold_keys(connection: Connection, rows: str) -> None:
    """Hold the different keys that `rows` have."""
    connection.execute(text(f"DROP TABLE IF EXISTS {KEYS}"))
    connection.execute(text(f"CREATE TEMPORARY TABLE {KEYS} AS SELECT DISTINCT kind_key FROM {rows}"))


def any_too_long(connection: Connection) -> bool:
    """Whether the keys that are held name a pattern without a short number."""
    return bool(connection.scalar(text(f"SELECT EXISTS (SELECT 1 FROM {KEYS} WHERE kind_key < 0)")))


def number_patterns(connection: Connection, calls: str) -> None:
    """Number the different slots of the rows of `calls`."""
    _make_patterns(connection, f"SELECT ROW_NUMBER() OVER (), s.* FROM (SELECT DISTINCT {_SLOTS} FROM {calls}) s")


def read_patterns(connection: Connection) -> None:
    """Read the slots from the short numbers in the keys that are held."""
    slots = {
        slot: " + ".join(
            f"((pattern_no >> {_SHORT_BITS * place}) & {_MOST_SHORT}) * {_unit(slot, field)}"
            for (its, field), place in _SHORT_PLACES.items()
            if its == slot
        )
        for slot in SLOTS
    }
    numbers = ", ".join(slots[slot] or "0" for slot in SLOTS)
    _make_patterns(connection, f"SELECT pattern_no, {numbers} FROM (SELECT DISTINCT {_PATTERN_OF} FROM {KEYS}) k")


def _make_patterns(connection: Connection, found: str) -> None:
    columns = ", ".join(f"{slot} BIGINT NOT NULL" for slot in SLOTS)
    table = f"CREATE TEMPORARY TABLE {PATTERNS} (pattern_no BIGINT PRIMARY KEY, {columns}, UNIQUE ({_SLOTS}))"
    connection.execute(text(table))
    connection.execute(text(f"INSERT INTO {PATTERNS} (pattern_no, {_SLOTS}) VALUES ({NO_CALLS}, 0, 0, 0, 0)"))
    connection.execute(text(f"INSERT INTO {PATTERNS} (pattern_no, {_SLOTS}) {found}"))


def make_kinds(connection: Connection) -> None:
    """Say what each kind is whose key is held: a pattern and gold that are found together, numbered from 0."""
    columns = (
        *(f"{name} {kind}" for name, kind in _PLAIN.items()),
        *(f"{name} BIGINT NOT NULL" for name in _COUNTED),
    )
    numbers = f"kind_no BIGINT NOT NULL, kind_key {KEYED[connection.dialect.name]}"
    connection.execute(text(f"CREATE TEMPORARY TABLE {KINDS} ({numbers}, {', '.join(columns)})"))
    counted = ", ".join(f"COALESCE({said}, 0) AS {name}" for name, said in _COUNTED.items())
    connection.execute(
        text(f"""
        INSERT INTO {KINDS} (kind_no, kind_key, {", ".join(COLUMNS)})
        WITH {_DECODED}, {_SAID}, {_GOLD},
        whole AS MATERIALIZED (
            SELECT said.*, kind_key, gold, gold_source, success_a, success_b,
                CASE WHEN gold IN ('A', 'B') THEN 1 ELSE 0 END AS decidable
            FROM said JOIN golds ON golds.kind_no = said.kind_no
        )
        SELECT kind_no, kind_key, {", ".join(_PLAIN)}, {counted} FROM whole
        """)
    )
    connection.execute(text(f"DROP TABLE {KEYS}"))


_PATTERN_OF = f"kind_key / {_GOLDS} AS pattern_no"
_PER_SIGN = _LABELS * _LABELS
_PER_B = _PER_SIGN * _SIGNS
_DECODED = f"""
    found AS (SELECT kind_key, {_PATTERN_OF}, kind_key % {_GOLDS} AS gold_no FROM {KEYS}),
    coded AS MATERIALIZED (
        SELECT ROW_NUMBER() OVER (ORDER BY kind_key) - 1 AS kind_no, kind_key, pattern_no,
            gold_no / {_PER_B * _OUTCOMES} AS of_a, gold_no / {_PER_B} % {_OUTCOMES} AS of_b,
            gold_no / {_PER_SIGN} % {_SIGNS} AS sign, gold_no / {_LABELS} % {_LABELS} AS human,
            gold_no % {_LABELS} AS label
        FROM found
    )
"""


def _count(slot: str, field: str) -> str:
    if field == "weak" and slot != "bo":
        return "0"
    return f"CASE WHEN {slot} > 0 THEN {slot} / {_unit(slot, field)} % {1 << _BITS[slot]} END"


def _all(field: str) -> str:
    present = " OR ".join(f"{slot}_{field} IS NOT NULL" for slot in SLOTS)
    total = " + ".join(f"COALESCE({slot}_{field}, 0)" for slot in SLOTS)
    return f"CASE WHEN {present} THEN {total} END"


def _pick(slot: str) -> str:
    return f"""
        CASE
            WHEN {slot}_a > {slot}_b THEN 'A'
            WHEN {slot}_a < {slot}_b THEN 'B'
            WHEN {slot}_a > 0 THEN 'inconsistent'
            WHEN {slot}_a + {slot}_b + {slot}_tie > 0 THEN 'tie'
            WHEN {slot}_a = 0 THEN 'unscored'
        END AS pick_{slot}
    """


_PICKS = ", ".join(f"pick_{slot}" for slot in SLOTS)
_SAID = f"""
    slots AS MATERIALIZED (
        SELECT kind_no,
            {", ".join(f"{_count(slot, field)} AS {slot}_{field}" for slot in SLOTS for field in _FIELDS)}
        FROM coded JOIN {PATTERNS} p ON p.pattern_no = coded.pattern_no
    ),
    picks AS MATERIALIZED (SELECT slots.*, {", ".join(map(_pick, SLOTS))} FROM slots),
    outcomes AS MATERIALIZED (
        SELECT
            picks.*,
            CASE
                WHEN COALESCE({_PICKS}) IS NULL THEN NULL
                WHEN 'unscored' IN ({_PICKS}) THEN 'unscored'
                WHEN 'inconsistent' IN ({_PICKS}) OR ('A' IN ({_PICKS}) AND 'B' IN ({_PICKS})) THEN 'inconsistent'
                WHEN 'A' IN ({_PICKS}) THEN 'A'
                WHEN 'B' IN ({_PICKS}) THEN 'B'
                ELSE 'tie'
            END AS outcome,
            CASE WHEN bo_weak > 0 OR 'tie' IN ({_PICKS}) THEN 'weak' ELSE 'decided' END AS strength
        FROM picks
    ),
    said AS MATERIALIZED (
        SELECT
            kind_no,
            CASE WHEN outcome IN ('A', 'B') THEN strength ELSE outcome END AS status,
            CASE WHEN outcome IN ('A', 'B', 'tie') THEN outcome END AS pref,
            CASE WHEN pick_bo IS NOT NULL OR (pick_ab IS NOT NULL AND pick_ba IS NOT NULL) THEN 1 ELSE 0 END
                AS both_orders,
            {", ".join(f"{_all(field)} AS calls_{field}" for field in _FIELDS[:4])},
            {", ".join(f"COALESCE({o}_{said}, 0) AS {o}_{said}" for o in ("ab", "ba") for said in ("a", "b", "tie"))}
        FROM outcomes
    )
"""
_PREFERRED = "WHEN 1 THEN 'A' WHEN 2 THEN 'B' WHEN 3 THEN 'tie'"
_RANKED = " ".join(f"WHEN {rank} THEN '{source}'" for rank, source in _SOURCES.items())
_GOLD = f"""
    successes AS MATERIALIZED (
        SELECT coded.*, CASE WHEN of_a > 0 THEN of_a % 3 - 1 END AS success_a,
            CASE WHEN of_b > 0 THEN of_b % 3 - 1 END AS success_b,
            CASE WHEN of_a = 0 OR of_b = 0 THEN NULL WHEN of_a / 3 > of_b / 3 THEN of_a / 3 ELSE of_b / 3 END AS source
        FROM coded
    ),
    preferences AS MATERIALIZED (
        SELECT successes.*,
            CASE WHEN success_a > success_b THEN 'A' WHEN success_a < success_b THEN 'B' WHEN success_a = success_b
                THEN 'tie' END AS success_pref
        FROM successes
    ),
    golds AS MATERIALIZED (
        SELECT kind_no, kind_key, success_a, success_b,
            CASE
                WHEN human > 0 THEN CASE human {_PREFERRED} END
                WHEN source <= 2 THEN success_pref
                WHEN label > 0 THEN CASE label {_PREFERRED} END
                WHEN success_pref IS NOT NULL THEN success_pref
                ELSE CASE sign {_PREFERRED} END
            END AS gold,
            CASE
                WHEN human > 0 THEN 'human'
                WHEN source <= 2 THEN CASE source {_RANKED} END
                WHEN label > 0 THEN 'label'
                WHEN success_pref IS NOT NULL THEN CASE source {_RANKED} END
                WHEN sign > 0 THEN 'reward'
            END AS gold_source
        FROM preferences
    )
"""
