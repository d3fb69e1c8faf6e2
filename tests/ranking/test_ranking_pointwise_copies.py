"""Pairs of scored answers that ask word for word what another pair does are one cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.aggregation.grouping import Clusters
from judgeharness_integrations.analysis.ranking.pointwise import pairs_of_scores, score_gaps
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
GAPS = (2, 1, -1, 3, 0, 1, 2, -2, 1, 1)


def rows(pairs: int, *, texts: int, judges: tuple[str, ...] = ("j",), swapped: int = 0) -> list[VerdictRow]:
    """Return scores of the sides of pairs, of so many texts; of the last few pairs with their sides exchanged."""
    return [
        VerdictRow(
            case_id=f"p{n}{side}",
            judge=judge,
            verdict=5.0 + (GAPS[n % texts % len(GAPS)] + place if side == good else 0),
            gold=good,
            attributes={
                "pair": f"p{n}",
                "side": side,
                "text_digest": f"{n % texts}{'good' if side == good else 'bad'}",
            },
        )
        for place, judge in enumerate(judges)
        for n in range(pairs)
        for good in ["B" if n >= pairs - swapped else "A"]
        for side in "AB"
    ]


def test_a_pair_is_known_by_both_of_its_answers_in_any_order() -> None:
    found = pairs_of_scores(rows(20, texts=10, swapped=3))
    assert len(Clusters.of_rows(found)) == 10
    assert found[0].attributes["text_digest"] == "0good 0bad"
    assert found[-1].attributes["pair_digest"] == "9bad 9good"
    shared = [
        replace(row, attributes=row.attributes | {"text_digest": "same"}) if row.case_id.endswith("A") else row
        for row in rows(20, texts=20)
    ]
    assert len(Clusters.of_rows(pairs_of_scores(shared))) == 20  # one answer in common is not the same question
    half = [row for row in rows(2, texts=1) if row.case_id != "p0B"]
    assert "text_digest" not in pairs_of_scores(half)[0].attributes


def test_the_interval_of_a_gap_is_over_texts_and_the_gap_stays() -> None:
    (copied,), (alone,) = score_gaps(rows(40, texts=10)), score_gaps(rows(40, texts=40))
    assert (copied.pairs, copied.clusters, alone.clusters) == (40, 10, None)
    assert (copied.mean, copied.sd) == (alone.mean, alone.sd)
    assert copied.se == pytest.approx(2 * (alone.se or 0), rel=0.06)
    assert copied.ci95 is not None
    assert alone.ci95 is not None
    assert copied.ci95[0] < alone.ci95[0]
    (single,) = score_gaps(rows(6, texts=1))
    assert (single.se, single.ci95, single.clusters) == (None, None, 1)


def test_a_ranking_by_scores_rests_on_texts(command: Command, tmp_path: Path) -> None:
    for texts in (10, 40):
        log = write_log(rows(40, texts=texts, judges=("j", "k", "l")), tmp_path / f"{texts}.jsonl")
        document = command("rank", log, "--json").json
        assert [gap["clusters"] for gap in document["analyses"]["score_gaps"]] == [None if texts == 40 else 10] * 3
        assert document["diagnostics"]["clusters"] <= texts
        assert bool(document.get("copies")) == (texts == 10)
        told = " ".join(command("rank", log).out.split())
        assert ("30 of 40 cases ask word for word" in told) == (texts == 10)
