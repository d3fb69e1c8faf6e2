"""What is asked of a report before something ships: single gates, and all those of a command or configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Self

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.gates.expression import Expression, parse_expression
from judgeharness_integrations.gates.report import About

__all__ = ["Gate", "Gates"]

_ON_VALUES: Final = "on the point estimate (--point-estimates, gates.point_estimates: true)"
_ABOUT_SUITE: Final = "about this suite, which is known exactly once every case is asked (--about suite)"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A bar that every judge and criterion it is about must clear; `judge` and `criterion` narrow it to one."""

    expression: Expression
    judge: str | None = None
    criterion: str | None = None

    @classmethod
    def of(cls, text: str, *, judge: str | None = None, criterion: str | None = None) -> Self:
        """Return the gate of an expression's text, as `pass_rate>=0.9`.

        Raises:
            UsageError: it cannot be read; see `parse_expression`.

        """
        return cls(expression=parse_expression(text), judge=judge, criterion=criterion)

    @property
    def name(self) -> str:
        """The expression as it was given."""
        return self.expression.text


@dataclass(frozen=True, kw_only=True)
class Gates:
    """All gates of a run or a report; expressions may be given as texts.

    `max_abstention` is `abstention<=`, `min_consistency` is `consistency>=`, both shares from 0 to 1.
    `require_calibration`: a calibration on people's or executed labels must hold for every judge and criterion, and its
    labels must tell the judge from one that always answers the same.
    `point_estimates`: gates look at the measured value instead of the worse end of its interval, and say so.
    `sequential`: gates may be looked at after every case, as often as one likes; they are `about` the `population` the
    cases are from, or this `suite`. Scores need the ends of their `scale` for that.

    Raises:
        UsageError: an expression cannot be read, or can never pass.

    """

    fail_under: tuple[Gate | str, ...] = ()
    max_abstention: float | None = None
    min_consistency: float | None = None
    require_calibration: bool = False
    point_estimates: bool = False
    sequential: bool = False
    about: About = "population"
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Read every expression, so that a wrong one is found before anything is asked."""
        given = (self.fail_under,) if isinstance(self.fail_under, str) else self.fail_under
        object.__setattr__(self, "fail_under", tuple(Gate.of(one) if isinstance(one, str) else one for one in given))
        self._check_sequential()
        for name in ("max_abstention", "min_consistency"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"{name} is a share from 0 to 1, not {value:g}.")
        for gate in self.listed:
            gate.expression.check_possible(instead=self._instead)

    @property
    def _instead(self) -> str | None:
        """What can clear a bar that no end of an interval does; None where these gates look at that already."""
        if self.sequential:
            return None if self.about == "suite" else _ABOUT_SUITE
        return None if self.point_estimates else _ON_VALUES

    def _check_sequential(self) -> None:
        if self.about not in {"population", "suite"}:
            raise UsageError(f"sequential gates are about the population or this suite, not {self.about!r:.40}.")
        if self.sequential and self.point_estimates:
            raise UsageError("sequential gates weigh evidence, point estimates are none: choose one of the two.")
        if self.scale is not None and not -math.inf < self.scale[0] < self.scale[1] < math.inf:
            raise UsageError(f"no score lies between {self.scale[0]:g} and {self.scale[1]:g}: give a scale as 1:10.")

    @property
    def listed(self) -> tuple[Gate, ...]:
        """The gates with an expression, in the order they are checked."""
        given: list[Gate] = [gate for gate in self.fail_under if isinstance(gate, Gate)]
        if self.max_abstention is not None:
            given.append(Gate.of(f"abstention<={self.max_abstention!r}"))
        if self.min_consistency is not None:
            given.append(Gate.of(f"consistency>={self.min_consistency!r}"))
        return tuple(dict.fromkeys(given))

    def __bool__(self) -> bool:
        """Whether anything is asked."""
        return bool(self.listed) or self.require_calibration

    def with_options(
        self,
        *,
        fail_under: Iterable[Gate | str] = (),
        max_abstention: float | None = None,
        min_consistency: float | None = None,
        require_calibration: bool | None = None,
        point_estimates: bool | None = None,
        sequential: bool | None = None,
        about: About | None = None,
        scale: tuple[float, float] | None = None,
    ) -> Gates:
        """Return these gates with more expressions, and with other limits where one is given."""
        limits = {
            "max_abstention": max_abstention,
            "min_consistency": min_consistency,
            "require_calibration": require_calibration,
            "point_estimates": point_estimates,
            "sequential": sequential,
            "about": about,
            "scale": scale,
        }
        given = {name: value for name, value in limits.items() if value is not None}
        return replace(self, fail_under=(*self.fail_under, *fail_under), **given)  # type: ignore[arg-type]
