"""What rubric work in a store comes to, counted anew with pandas from its rows alone."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

Table = Any
"""A data frame: pandas ships no types."""

ALL = None
"""In place of a domain: all of them."""


class Recount:
    """The rows of one store of one audit, as data frames."""

    def __init__(self, store: Path) -> None:
        with closing(sqlite3.connect(store)) as connection:

            def read(table: str) -> Table:
                return pd.read_sql_query(f"SELECT * FROM {table}", connection)

            self.tasks = read("tasks")[["task_id", "subset"]]
            self.drafts = read("rubric_drafts")
            self.matchings = read("rubric_matchings")
            self.matches = read("rubric_matches")
            self.rules = read("rubric_rules")
            self.gold = read("task_rubrics")[["task_id", "rubric_id"]]
            self.judges = read("judges")
            self.verdicts = read("verdicts")
            self.pairs = read("pairs")[["pair_id", "task_id"]]
            self.labels = read("gold_labels")[["pair_id", "pref"]]

    def writing(self, domain: str | None = ALL) -> dict[str, int]:
        """Gold rules, those that were hit, generated rules and those that hit, over all drafts that were matched."""
        samples = self.matchings.merge(self.drafts[["draft_id", "task_id", "rubric_id"]], on="draft_id")
        samples = samples.merge(self.tasks, on="task_id")
        if domain is not ALL:
            samples = samples[samples["subset"] == domain]
        sizes = self.rules.groupby("rubric_id").size()
        matches = self.matches[self.matches["matching_id"].isin(samples["matching_id"])]
        assert (matches["status"] == "scored").all()
        hits = matches.dropna(subset=["gold_rule"])
        generated = samples["rubric_id_y"].dropna().map(sizes).sum()
        assert generated == len(matches)
        return {
            "samples": len(samples),
            "total_gold": int(samples["rubric_id_x"].map(sizes).sum()),
            "matched_gold": len(hits[["matching_id", "gold_rule"]].drop_duplicates()),
            "total_generated": int(generated),
            "matched_generated": len(hits),
        }

    def reduced(self) -> Table:
        """One row a pair and source of rules: what both orders said, and how that ended."""
        called = self.verdicts.dropna(subset=["pair_id"]).merge(self.judges[["judge_id", "params"]], on="judge_id")
        called["source"] = [json.loads(params).get("rubrics", {}).get("kind", "none") for params in called["params"]]
        called["winner"] = called["winner"].where(called["status"] == "scored", "unscored")
        wide = called.pivot(index=["source", "pair_id"], columns="order_shown", values="winner").reset_index()
        wide["said"] = [_both(ab, ba) for ab, ba in zip(wide["AB"], wide["BA"], strict=True)]
        known = wide.merge(self.labels, on="pair_id").merge(self.pairs, on="pair_id").merge(self.tasks, on="task_id")
        known["ended"] = [_ended(said, gold) for said, gold in zip(known["said"], known["pref"], strict=True)]
        return known

    def judging(self, domain: str | None = ALL) -> dict[str, dict[str, int]]:
        """By source of rules: how many of its pairs ended right, wrong, as a tie or inconsistent."""
        found = self.reduced()
        if domain is not ALL:
            found = found[found["subset"] == domain]
        return {
            str(source): {
                "pairs": len(mine),
                **{str(ended): int(n) for ended, n in mine["ended"].value_counts().items()},
            }
            for source, mine in found.groupby("source")
        }

    def only_right(self, first: str, second: str) -> tuple[int, int]:
        """Pairs scored with both sources of rules that one of them gets right and the other does not, both ways."""
        wide = self.reduced().pivot(index="pair_id", columns="source", values="ended")
        wide = wide[(wide[[first, second]] != "unscored").all(axis=1)] == "right"
        return int((wide[first] & ~wide[second]).sum()), int((wide[second] & ~wide[first]).sum())


def _both(ab: str, ba: str) -> str | None:
    """The verdict of both orders, None where they disagree; unscored where one is."""
    if ab == ba or "unscored" in {ab, ba}:
        return ab if ab == ba else "unscored"
    return ({ab, ba} - {"tie"}).pop() if "tie" in {ab, ba} else None


def _ended(said: str | None, gold: str) -> str:
    if said is None or said != said:
        return "inconsistent"
    return said if said in {"tie", "unscored"} else "right" if said == gold else "wrong"
