"""The whole way from rows to a leaderboard: the published numbers, and judges that no likelihood can rate."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.drawn_credits import DATA, golden, rasch_credits

from judgeharness_integrations import VerdictRow, read_log
from judgeharness_integrations.analysis.ranking.ranking import rank
from judgeharness_integrations.analysis.ranking.rating import RankReport
from judgeharness_integrations.analysis.ranking.studying import RankRequest


@pytest.fixture(scope="module")
def published() -> RankReport:
    return rank(read_log(DATA / "llmbar.csv.gz"))


@pytest.mark.slow
def test_65_judges_are_ranked_as_published(published: RankReport) -> None:
    known = golden("llmbar_bt")
    assert (published.method, published.rule) == ("bradley-terry", "both_orders")
    assert (published.n_pairs_total, published.n_unanimous, published.n_pairs) == (419, 13, 406)
    assert {one.judge: one.elo_published for one in published.judges} == pytest.approx(
        {judge: entry["elo_published"] for judge, entry in known["judges"].items()}, abs=1e-3
    )
    assert {one.judge: one.se_published for one in published.judges} == pytest.approx(
        {judge: entry["se_published"] for judge, entry in known["judges"].items()}, rel=1e-6
    )
    assert (np.diff([one.elo_published or 0 for one in published.judges]) < 1e-6).all()
    assert published.judges[0].rank == 1


@pytest.mark.slow
def test_the_report_is_json_without_gaps(published: RankReport) -> None:
    kept = json.loads(json.dumps(published.to_dict(), allow_nan=False))
    assert kept["schema"] == "judgeharness.rank/1"
    needed = {"method", "rule", "n_pairs_total", "n_unanimous", "n_pairs", "judges", "contrasts", "diagnostics"}
    assert needed <= set(kept)
    assert {"judge", "rank", "elo", "se", "ci95", "elo_published", "se_published", "right_of_labelled"} <= set(
        kept["judges"][0]
    )
    assert len(kept["contrasts"]) == 65 * 64 / 2


def rows_of(answers: Any, *, failing: str | None = None) -> list[VerdictRow]:
    """Rows of judges right (1) or wrong (0) about pairs, gold A; None is an answer that could not be parsed."""
    rows = [
        VerdictRow(case_id=f"p{pair}", judge=f"j{judge}", verdict="A" if right else "B", gold="A")
        for pair, row in enumerate(answers)
        for judge, right in enumerate(row)
    ]
    failed = [
        VerdictRow(case_id=f"p{pair}", judge=failing, verdict=None, outcome="unparsed", gold="A")
        for pair in range(len(answers) if failing else 0)
    ]
    return rows + failed


ANSWERS = rasch_credits(np.random.default_rng(1), [-0.5, 0.0, 0.5], 60).values


def test_a_judge_that_always_fails_is_ranked_last_and_drops_no_pair() -> None:
    alone, found = rank(rows_of(ANSWERS)), rank(rows_of(ANSWERS, failing="mute"))
    last = found.judges[-1]
    assert (last.judge, last.rank, last.place, last.elo, last.right_of_labelled) == ("mute", 4, "below", None, 0)
    assert last.n == 60
    assert found.n_pairs_total == alone.n_pairs_total == 60
    assert found.n_pairs >= alone.n_pairs
    assert [(one.judge, one.elo) for one in found.rated] == [(one.judge, pytest.approx(one.elo)) for one in alone.rated]
    assert any("mute" in sentence for sentence in found.diagnostics.sentences())


def test_where_failures_are_missing_the_judge_stays_on_the_list_without_a_rank() -> None:
    found = rank(rows_of(ANSWERS, failing="mute"), RankRequest(failures="missing"))
    entry = found.judge("mute")
    assert (entry.rank, entry.elo, entry.n) == (None, None, 0)
    assert len(found.rated) == 3
    assert found.n_pairs_total == 60


def test_a_judge_that_is_never_wrong_is_first_and_has_no_elo_but_a_sentence() -> None:
    perfect = np.column_stack([ANSWERS, np.ones(60)])
    found = rank(rows_of(perfect))
    first = found.judges[0]
    assert (first.judge, first.rank, first.place, first.elo, first.se) == ("j3", 1, "above", None, None)
    assert any("j3: never wrong" in sentence for sentence in found.diagnostics.sentences())


def test_judges_of_disconnected_pairs_get_no_elo_and_a_sentence() -> None:
    first = rows_of(ANSWERS)
    second = [
        VerdictRow(case_id=f"q{row.case_id}", judge=f"other {row.judge}", verdict=row.verdict, gold="A")
        for row in rows_of(ANSWERS)
    ]
    found = rank(first + second)
    assert found.rated == ()
    assert {one.rank for one in found.judges} == {None}
    assert any("no chain of pairs compares them" in sentence for sentence in found.diagnostics.sentences())
