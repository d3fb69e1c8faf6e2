"""The same judges on other pairs: whose place depends on which model wrote the answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.ranking.comparing.changes import EloChange, OwnSet, wrote
from judgeharness_integrations.ranking.comparing.correlation import RankCorrelation, correlate
from judgeharness_integrations.ranking.places import ranked

__all__ = ["Against", "Slope", "against"]


@dataclass(frozen=True, kw_only=True)
class Slope:
    """One judge in both rankings; ranks are among the judges of both.

    `generator`: it wrote answers that are judged; `wrote`: names of the rankings whose answers it wrote.
    """

    judge: str
    elo: float
    elo_against: float
    rank: int
    rank_against: int
    generator: bool
    wrote: tuple[str, ...] = ()

    @property
    def change(self) -> int:
        """Places gained in the other ranking; negative where it falls."""
        return self.rank - self.rank_against

    def to_dict(self) -> dict[str, Any]:
        """Return the slope as JSON keeps it."""
        return asdict(self) | {"change": self.change, "wrote": list(self.wrote)}


@dataclass(frozen=True, kw_only=True)
class Against:
    """Two rankings (`name` and `name_against`) of the judges that stand in both, `slopes` by rank in the first.

    `only`, `only_against`: how many judges stand in one of them alone. `unrated`: judges that answered in both and lack
    a rating in either, as one that is never wrong does. `correlation_without_generators` leaves out the
    judges that wrote answers; None where there are none, so that it would be the same. `changes`: what each judge's
    change of Elo is worth, empty for a method without errors; `own_sets`: of the judges that wrote answers.
    """

    name: str
    name_against: str
    slopes: tuple[Slope, ...]
    correlation: RankCorrelation
    correlation_without_generators: RankCorrelation | None
    only: int
    only_against: int
    unrated: tuple[str, ...] = ()
    changes: tuple[EloChange, ...] = ()
    own_sets: tuple[OwnSet, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the rankings as JSON keeps them."""
        without = self.correlation_without_generators
        return {
            "name": self.name,
            "name_against": self.name_against,
            "judges": len(self.slopes),
            "only": self.only,
            "only_against": self.only_against,
            "unrated": list(self.unrated),
            "slopes": [slope.to_dict() for slope in self.slopes],
            "changes": [change.to_dict() for change in self.changes],
            "own_sets": [one.to_dict() for one in self.own_sets],
            "correlation": self.correlation.to_dict(),
            "correlation_without_generators": None if without is None else without.to_dict(),
        }


def against(
    scores: Mapping[str, float],
    other: Mapping[str, float],
    *,
    labels: tuple[str, str],
    generators: tuple[Collection[str], Collection[str]] = ((), ()),
    judges: Collection[str] = (),
    changes: Sequence[EloChange] = (),
    own_sets: Sequence[OwnSet] = (),
) -> Against:
    """Hold the ratings of judges against ratings on other pairs.

    Args:
        scores: judge -> Elo.
        other: judge -> Elo on the other pairs.
        labels: what to call the two.
        generators: models that wrote the answers of each; `model` stands for the judges `model@variant` too.
        judges: that answered in both, rated or not.
        changes: what the changes of Elo are worth.
        own_sets: what those of the judges that wrote answers say.

    Raises:
        UsageError: no judge is rated in both.

    """
    names = [name for name in scores if name in other]
    if not names:
        raise UsageError(
            f"no judge is rated in both {labels[0]} and {labels[1]}: give logs that share judges, under the same names."
        )
    ranks, ranks_against = (ranked({name: side[name] for name in names}) for side in (scores, other))
    slopes = sorted(
        (
            Slope(
                judge=name,
                elo=scores[name],
                elo_against=other[name],
                rank=ranks[name],
                rank_against=ranks_against[name],
                generator=any(wrote(name, models) for models in generators),
                wrote=tuple(label for label, models in zip(labels, generators, strict=True) if wrote(name, models)),
            )
            for name in names
        ),
        key=lambda slope: slope.rank,
    )
    rest = {slope.judge: slope.elo for slope in slopes if not slope.generator}
    return Against(
        name=labels[0],
        name_against=labels[1],
        slopes=tuple(slopes),
        correlation=correlate(scores, other, labels=labels),
        correlation_without_generators=None if len(rest) == len(slopes) else correlate(rest, other, labels=labels),
        only=len(scores) - len(names),
        only_against=len(other) - len(names),
        unrated=tuple(name for name in judges if name not in names),
        changes=tuple(changes),
        own_sets=tuple(own_sets),
    )
