"""Which pair goes into which file of an export, in bands of difficulty, and what the export says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pydantic import Field

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.results.curation import Curating
from judgeharness_integrations.benchmark.results.rows import NOISE, Mode

__all__ = ["HELD_OUT", "SCOPE", "Band", "ExportReport", "Exported", "Format", "bands_of", "exported"]

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
