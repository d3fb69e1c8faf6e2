"""The pairs that tell judges apart: noise, unanimous and hardest ones left out, and what that does to the ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from pydantic import Field

from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.results.judgments import order_rule
from judgeharness_integrations.benchmark.results.rows import AMBIGUOUS, AUDIT, CRITERIA, NOISE, Mode
from judgeharness_integrations.ranking.cascade import NO_VALUE, CascadeRow, cascade
from judgeharness_integrations.ranking.correctness.policy import Failures
from judgeharness_integrations.ranking.curation import CutTies
from judgeharness_integrations.ranking.ranking import leaderboard
from judgeharness_integrations.ranking.report import RankReport
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.ranking.studying import RankStudy, study
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CURATED", "CurateReport", "CuratedJudge", "Curating", "Dropped", "Step", "curated"]

CURATED: Final = "curated.jsonl"
_DROPPED: Final = "dropped"  # the column that marks what people found and is left out for


class Step(Record):
    """Judged pairs with one `value` in a `column` (None: all), each in one of the steps, which sum to `judged`.

    `flagged`: people found them to be noise; `ambiguous`: they found them so, and these were to be left out too.
    """

    column: str | None
    value: str
    judged: int = Field(ge=0)
    flagged: int = Field(ge=0)
    ambiguous: int = Field(default=0, ge=0)
    unanimous_right: int = Field(ge=0)
    unanimous_wrong: int = Field(ge=0)
    unanswered: int = Field(ge=0)
    hardest: int = Field(ge=0)
    kept: int = Field(ge=0)

    @classmethod
    def of(cls, row: CascadeRow, *, ambiguous: int) -> Step:
        """Return the counts of a row, of whose flagged pairs some are ambiguous."""
        counts = {name: getattr(row, name) for name in cls.model_fields if name not in ("judged", "ambiguous")}
        counts["flagged"] -= ambiguous
        return cls(judged=row.total, ambiguous=ambiguous, **counts)


class Dropped(Record):
    """A judged pair left out for what people `found`; `divided`: as many of them found something else of it."""

    pair: str
    found: Literal["noise", "ambiguous"]
    divided: bool


class CuratedJudge(Record):
    """A judge by all judged pairs, and by those that were kept; None where it cannot be rated."""

    judge: str
    rank_before: int | None
    rank: int | None
    elo_before: float | None
    elo: float | None
    se_before: float | None
    se: float | None


class CurateReport(Record):
    """What `judgeharness benchmark curate --json` prints.

    `pairs` of the benchmark that were not rejected; `judged` of them by any judge; `kept` are in `curated.jsonl`.
    `audited`: people labelled some, and what they found to be noise is left out unless `keeps_noise`, what is ambiguous
    where `drops_ambiguous`; `dropped` are these pairs. `alone`: pairs left out as unanimous about which one judge alone
    was asked.
    """

    schema_: Literal["judgeharness.benchmark_curate/1"] = Field(
        default="judgeharness.benchmark_curate/1", alias="schema"
    )
    mode: Mode
    rule: str
    cut: float = Field(ge=0, lt=1)
    cut_ties: CutTies
    audited: bool
    keeps_noise: bool
    drops_ambiguous: bool = False
    pairs: int = Field(ge=0)
    judged: int = Field(ge=0)
    alone: int = Field(ge=0)
    kept: int = Field(ge=0)
    steps: tuple[Step, ...]
    judges: tuple[CuratedJudge, ...]
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Curating:
    """A curation: the study it rests on, and the rankings without and with it."""

    found: RankStudy
    before: RankReport
    after: RankReport

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of the pairs that are kept."""
        return self.found.curation.kept.pairs

    @property
    def difficulty(self) -> dict[str, float]:
        """Pair id -> Elo of a pair that tells judges apart, before the cut; pairs without any are left out."""
        curation = self.found.curation
        known = zip(curation.matrix.pairs, curation.difficulty.tolist(), strict=True)
        return {pair: value for pair, value in known if not np.isnan(value)}

    @property
    def alone(self) -> frozenset[str]:
        """Ids of the unanimous pairs about which the answer of one judge alone counts: nobody could disagree."""
        curation = self.found.curation
        marks = curation.unanimous & (curation.matrix.seen.sum(axis=1) == 1)
        return frozenset(pair for pair, marked in zip(curation.matrix.pairs, marks, strict=True) if marked)

    @property
    def dropped(self) -> dict[str, str]:
        """Pair id -> what people found, of the judged pairs that are left out for it."""
        curation = self.found.curation
        if not curation.flagged.any():
            return {}
        labels = zip(curation.matrix.pairs, curation.matrix.column(AUDIT), curation.flagged, strict=True)
        return {pair: str(label) for pair, label, left_out in labels if left_out}

    def steps(self, columns: Sequence[str]) -> tuple[Step, ...]:
        """Return how many pairs each step took, of all and by columns.

        Raises:
            UnknownNameError: there is no such column; the nearest is offered.

        """
        matrix = self.found.curation.matrix
        doubtful = [place for place, pair in enumerate(matrix.pairs) if self.dropped.get(pair) == AMBIGUOUS]
        counts = Counter((name, str(matrix.column(name)[place] or NO_VALUE)) for name in columns for place in doubtful)
        return tuple(
            Step.of(row, ambiguous=len(doubtful) if row.column is None else counts[row.column, row.value])
            for row in cascade(self.found.curation, columns)
        )

    def judges(self) -> tuple[CuratedJudge, ...]:
        """Return every judge before and after, in the order of after."""
        return tuple(
            CuratedJudge(
                judge=one.judge,
                rank_before=(earlier := self.before.judge(one.judge)).rank,
                rank=one.rank,
                elo_before=earlier.elo,
                elo=one.elo,
                se_before=earlier.se,
                se=one.se,
            )
            for one in self.after.judges
        )


def curated(
    rows: Iterable[VerdictRow],
    *,
    share: float = 0.05,
    cut_ties: CutTies = "keep",
    failures: Failures = "wrong",
    flags: bool = False,
    ambiguous: bool = False,
) -> Curating:
    """Curate by who was right about verdict, turn and type at once, and rank again by what is left.

    Args:
        rows: about pairs, with columns and gold (`rows.joined`).
        share: of the pairs that tell judges apart, the hardest to leave out.
        cut_ties: whether pairs tied at the cut are all kept or all cut.
        failures: what a failed answer is.
        flags: leave out the pairs people found to be noise.
        ambiguous: leave out the pairs people found ambiguous, an even split among them (`audit.consensus`).

    Raises:
        UsageError: nothing was judged, the share is out of range, or pairs have no difficulty.

    """
    wanted = {name for name, wished in ((NOISE, flags), (AMBIGUOUS, ambiguous)) if wished}
    mine = _marked(rows, wanted) if wanted else list(rows)
    plain = RankRequest(rule=order_rule(mine), criteria=CRITERIA, failures=failures)
    cut = replace(plain, cut=share, cut_ties=cut_ties, flagged=_DROPPED if wanted else None)
    found = study(mine, cut)
    return Curating(found=found, before=leaderboard(study(mine, plain)), after=leaderboard(found))


def _marked(rows: Iterable[VerdictRow], wanted: Collection[str]) -> list[VerdictRow]:
    """Return the rows with a column that marks the pairs of which people found what is wanted."""
    return [
        replace(row, attributes={**row.attributes, _DROPPED: "1" if row.attributes.get(AUDIT) in wanted else "0"})
        for row in rows
    ]
