"""The pairs that tell judges apart, which of them go into which file of an export, and which are suspicious."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from pydantic import Field

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.correctness import Failures
from judgeharness_integrations.analysis.ranking.ranking import leaderboard
from judgeharness_integrations.analysis.ranking.rating import RankReport
from judgeharness_integrations.analysis.ranking.studying import (
    NO_VALUE,
    CascadeRow,
    CutTies,
    RankRequest,
    RankStudy,
    cascade,
    study,
)
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..pair import Pair, Record
from .judgments import AMBIGUOUS, AUDIT, CRITERIA, NOISE, Mode, order_rule

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
                judge=judge.judge,
                rank_before=(earlier := self.before.judge(judge.judge)).rank,
                rank=judge.rank,
                elo_before=earlier.elo,
                elo=judge.elo,
                se_before=earlier.se,
                se=judge.se,
            )
            for judge in self.after.judges
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


Format: TypeAlias = Literal["native", "rankjudge"]
HELD_OUT: Final = "held_out"
SCOPE: Final = (
    "Training judges is out of the scope of this package: the bands are for whoever does, and the held-out pairs, "
    "which people found to be clean, are for measuring what came of it."
)
_CLEAN: Final = "clean"
_SAME = 1e-6  # Elo: pairs of the same pattern differ by rounding alone


class Band(Record):
    """One file of an export: its name without the ending, how many pairs it has, and how hard they are.

    `easiest` and `hardest`: Elo on the judges' scale; None for files that are no bands, for empty ones, and where all
    judges that can be rated agree.
    """

    name: str
    pairs: int = Field(ge=0)
    easiest: float | None
    hardest: float | None


class ExportReport(Record):
    """One `export.json`. `pairs` = those of `files` + `noise` + `unanswered` + `unjudged` + `alone` + `unplaced`.

    `pairs`: that verification did not reject; `noise`: people found it; `unanswered`: no answer counts; `unjudged`:
    nobody was asked; `alone`: one judge was, which says little of how hard they are; `unplaced`: they tell judges apart
    and have no difficulty. None of these is in a file.
    """

    schema_: Literal["judgeharness.benchmark_export/1"] = Field(
        default="judgeharness.benchmark_export/1", alias="schema"
    )
    format: Format
    scope: str
    mode: Mode | None
    rule: str | None
    judges: tuple[str, ...]
    seed: int
    bands: int = Field(ge=1)
    audited: bool
    pairs: int = Field(ge=0)
    noise: int = Field(ge=0)
    unanswered: int = Field(ge=0)
    unjudged: int = Field(ge=0)
    alone: int = Field(ge=0)
    unplaced: int = Field(ge=0)
    files: tuple[Band, ...]


@dataclass(frozen=True, kw_only=True)
class Exported:
    """Name of a file without its ending -> the pairs in it, each in one of them at most; and what is in none."""

    files: Mapping[str, tuple[Pair, ...]]
    difficulty: Mapping[str, float]
    noise: int
    unanswered: int
    unjudged: int
    alone: int
    unplaced: int

    def bands(self) -> tuple[Band, ...]:
        """Return what is told of each file."""
        return tuple(self._band(name, pairs) for name, pairs in self.files.items())

    def _band(self, name: str, pairs: Sequence[Pair]) -> Band:
        known = [self.difficulty[pair.pair_id] for pair in pairs if pair.pair_id in self.difficulty]
        finite = [value for value in known if abs(value) != float("inf")] if name.startswith("band") else []
        return Band(name=name, pairs=len(pairs), easiest=min(finite, default=None), hardest=max(finite, default=None))


def exported(
    pairs: Sequence[Pair], made: Curating | None, *, audit: Mapping[str, str | None] | None, bands: int
) -> Exported:
    """Return which pair goes where.

    Pairs people found to be clean are held out, in no band; noise is in no file. The rest is `unanimous_right`,
    `unanimous_wrong` or in a band of its difficulty, as far as two judges or more say something of it.

    Args:
        pairs: that verification did not reject.
        made: their curation, without a cut; None where nobody was asked.
        audit: pair id -> what people agreed on; None where nobody labelled any pair.
        bands: how many bands of difficulty.

    Raises:
        UsageError: fewer than one band is wanted.

    """
    said = audit or {}
    left = {pair.pair_id: pair for pair in pairs if said.get(pair.pair_id) not in (_CLEAN, NOISE)}
    steps = {} if made is None else _steps(made)
    difficulty = {} if made is None else made.difficulty
    told_apart = [name for name in left if steps.get(name) == "informative"]
    placed = bands_of({name: difficulty[name] for name in told_apart if name in difficulty}, bands=bands)
    files = {f"band_{number}_of_{bands}": names for number, names in enumerate(placed, start=1)}
    for name in ("unanimous_right", "unanimous_wrong"):
        files[name] = tuple(pair for pair in left if steps.get(pair) == name)
    of_files = {name: tuple(left[pair] for pair in names) for name, names in files.items()}
    of_files[HELD_OUT] = tuple(pair for pair in pairs if said.get(pair.pair_id) == _CLEAN)
    return Exported(
        files=of_files,
        difficulty=difficulty,
        noise=sum(said.get(pair.pair_id) == NOISE for pair in pairs),
        unanswered=sum(steps.get(name) == "unanswered" for name in left),
        unjudged=sum(name not in steps for name in left),
        alone=sum(steps.get(name) == "alone" for name in left),
        unplaced=sum(name not in difficulty for name in told_apart),
    )


def bands_of(difficulty: Mapping[str, float], *, bands: int) -> tuple[tuple[str, ...], ...]:
    """Return the ids of the pairs of each band, the easiest band first; within a band in the order given.

    The cuts are quantiles. Pairs of the same difficulty stay together, in the band in which the middle of them falls,
    so that bands may differ in size, and some may be empty where few difficulties occur.

    Args:
        difficulty: pair id -> Elo.
        bands: how many.

    Raises:
        UsageError: fewer than one band is wanted.

    """
    if bands < 1:
        raise UsageError(f"--bands must be at least 1, not {bands}.")
    ordered = sorted(difficulty, key=lambda pair: (difficulty[pair], pair))
    placed: dict[str, int] = {}
    start = 0
    while start < len(ordered):
        end = start + 1
        while end < len(ordered) and _alike(difficulty[ordered[end - 1]], difficulty[ordered[end]]):
            end += 1
        band = (start + end - 1) * bands // (2 * len(ordered))
        placed |= dict.fromkeys(ordered[start:end], band)
        start = end
    return tuple(tuple(pair for pair in difficulty if placed[pair] == band) for band in range(bands))


def _steps(made: Curating) -> dict[str, str]:
    """Return pair id -> whether judges are unanimous about it, one is alone or none, or they are told apart by it."""
    curation = made.found.curation
    right = made.found.matrix.values == 1
    alone = made.alone
    found: dict[str, str] = {}
    for place, pair in enumerate(curation.matrix.pairs):
        if curation.unanswered[place]:
            found[pair] = "unanswered"
        elif pair in alone:
            found[pair] = "alone"
        elif curation.unanimous[place]:
            found[pair] = "unanimous_right" if right[place].any() else "unanimous_wrong"
        else:
            found[pair] = "informative"
    return found


def _alike(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _SAME  # infinite difficulties are equal or not


JointMatrix: TypeAlias = Mapping[str, Mapping[str, bool | None]]
"""Judge -> pair id -> whether its verdict, turn and type were all right; None, or no entry: nothing was decided."""


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A pair in an order of suspicion: `correct` of the `asked` judges were right.

    `score` is what the order goes by, in its own sense; judges without a decision count in none of the three.
    """

    pair_id: str
    score: float
    correct: int
    asked: int

    @property
    def share(self) -> float:
        """Share of the asked judges that were right."""
        return self.correct / self.asked


def by_joint_correctness(table: JointMatrix) -> list[Suspect]:
    """Return the pairs by the share of judges that were jointly right about them, smallest first; ties by pair id.

    `score` is that share. A pair that no judge decided is not in it: nothing speaks for or against it.
    """
    found = [
        Suspect(pair_id=pair_id, score=sum(cells.values()) / len(cells), correct=sum(cells.values()), asked=len(cells))
        for pair_id, cells in _by_pair(table)
    ]
    return sorted(found, key=lambda suspect: (suspect.score, suspect.pair_id))


def strong_miss_weak_hit(table: JointMatrix, strength: Mapping[str, float] | None = None) -> list[Suspect]:
    """Return the pairs that strong judges miss and weak ones hit, the most striking first; ties by pair id.

    `score` is the mean strength of the judges that miss minus the mean strength of those that hit: above 0 where the
    stronger ones miss. A pair that all asked judges miss, or all hit, is not in it.

    Args:
        table: who was right about what.
        strength: judge -> how good it is: Elo, or any number that grows with it; `strengths` of the table when None.

    Raises:
        UsageError: a judge of the table has no strength, or one that is no finite number.

    """
    known = strengths(table) if strength is None else strength
    for judge in table:
        decided = any(cell is not None for cell in table[judge].values())
        if decided and not math.isfinite(known.get(judge, math.nan)):
            raise UsageError(f"judge {judge!r} has no finite strength: give that of every judge of the table.")
    found = []
    for pair_id, cells in _by_pair(table):
        hits = [known[judge] for judge, right in cells.items() if right]
        misses = [known[judge] for judge, right in cells.items() if not right]
        if hits and misses:
            score = _mean(misses) - _mean(hits)
            found.append(Suspect(pair_id=pair_id, score=score, correct=len(hits), asked=len(cells)))
    return sorted(found, key=lambda suspect: (-suspect.score, suspect.pair_id))


def strengths(table: JointMatrix) -> dict[str, float]:
    """Return judge -> share of its decided pairs it was jointly right about; judges without any are left out."""
    decided = {judge: [cell for cell in cells.values() if cell is not None] for judge, cells in table.items()}
    return {judge: sum(cells) / len(cells) for judge, cells in decided.items() if cells}


def suspicious_slice(orders: Iterable[Sequence[Suspect]], *, n: int, without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return up to `n` pairs from the tops of the orders: one of the first, one of the second, and again.

    Args:
        orders: of suspicion; none of their pairs that all judges got right is taken, nor one of a negative score.
        n: how many.
        without: pairs that are looked at anyway.

    """
    taken = dict.fromkeys(without)
    chosen: list[str] = []
    lists = [iter([s.pair_id for s in order if s.correct < s.asked and s.score >= 0]) for order in orders]
    while lists and len(chosen) < n:
        for order in list(lists):
            pair_id = next((name for name in order if name not in taken), None)
            if pair_id is None:
                lists.remove(order)
            elif len(chosen) < n:
                taken[pair_id] = None
                chosen.append(pair_id)
    return tuple(chosen)


def _by_pair(table: JointMatrix) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield (pair id, judge -> right) of the pairs that some judge decided."""
    pairs = sorted({pair_id for cells in table.values() for pair_id in cells})
    for pair_id in pairs:
        cells = {judge: right for judge, mine in table.items() if (right := mine.get(pair_id)) is not None}
        if cells:
            yield pair_id, cells


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)  # the same in every order of the judges
