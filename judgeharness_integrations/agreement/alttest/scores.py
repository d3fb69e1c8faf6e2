"""How close an answer is to what the other humans said: the scores of the test, and which answers they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.agreement.alttest.closeness import Accuracy, Closeness, Distance, Function
from judgeharness_integrations.agreement.alttest.overlap import Jaccard, MacroJaccard
from judgeharness_integrations.agreement.alttest.positions import Positions

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.ballots import Ballots
    from judgeharness_integrations.agreement.panels.panel import Kind

__all__ = ["DEFAULT_SCORE", "SCORES", "ScoreLike", "closeness", "score_name", "scores_of"]

ScoreLike: TypeAlias = "str | Callable[[Any, Sequence[Any]], float]"

DEFAULT_SCORE: dict[Kind, str] = {"labels": "accuracy", "numbers": "neg_rmse", "sets": "jaccard"}
_MADE: dict[str, Callable[[Ballots], Closeness]] = {
    "accuracy": Accuracy,
    "neg_rmse": Distance,
    "jaccard": Jaccard,
    "macro_jaccard": MacroJaccard,
    "hamming": Positions,
}
_FITS: dict[str, tuple[Kind, ...]] = {
    "accuracy": ("labels", "numbers", "sets"),
    "neg_rmse": ("numbers",),
    "jaccard": ("sets",),
    "macro_jaccard": ("sets",),
    "hamming": ("sets",),
}
_NEEDS: dict[Kind, str] = {"labels": "labels", "numbers": "numbers", "sets": "sets of labels"}
SCORES = tuple(_MADE)


def score_name(score: ScoreLike) -> str:
    """Return the name a score is reported under."""
    return score if isinstance(score, str) else str(getattr(score, "__name__", type(score).__name__))


def scores_of(scores: Iterable[ScoreLike] | ScoreLike | None, kind: Kind) -> dict[str, ScoreLike]:
    """Return the scores by name; by default the one usual for this kind of answers.

    Raises:
        UnknownNameError: no such score.
        UsageError: a score does not fit the answers, or two functions have one name.

    """
    given = [scores] if isinstance(scores, str) or callable(scores) else list(scores or ())
    named: dict[str, ScoreLike] = {}
    for score in given or [DEFAULT_SCORE[kind]]:
        name = score_name(score)
        _check(score, kind)
        if named.setdefault(name, score) is not score and named[name] != score:
            raise UsageError(f"two scores are named {name!r}: give the functions names of their own.")
    return named


def _check(score: ScoreLike, kind: Kind) -> None:
    if not isinstance(score, str):
        if not callable(score):
            raise UsageError(f"a score is a name or a function (prediction, annotations) -> number, not {score!r}.")
        return
    if score not in _MADE:
        raise UnknownNameError("score", score, SCORES)
    if kind not in _FITS[score]:
        fitting = ", ".join(name for name, kinds in _FITS.items() if kind in kinds)
        wanted = " or ".join(_NEEDS[one] for one in _FITS[score])
        raise UsageError(f"score {score!r} is of {wanted}, and these answers are {_NEEDS[kind]}: use {fitting}.")


def closeness(score: ScoreLike, ballots: Ballots) -> Closeness:
    """Return a score over some ballots."""
    return _MADE[score](ballots) if isinstance(score, str) else Function(ballots, score)
