"""What an adapter brings to the conformance suite: one of its evaluators on the bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import Case
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.testing.script import Script

__all__ = ["Bench", "Evaluator", "HarnessedEvaluator", "Native"]


@dataclass(frozen=True, kw_only=True)
class Native:
    """One result of a framework, and what is to be read in it.

    Args:
        answer: the framework's own result as it returns or writes it; `json.dumps` takes it.
        plain: its keys and values without the measurement; those of the bare evaluator, where there is one.
        verdict: what the framework's own keys say: `A`, `B`, `TIE`, `PASS`, `FAIL`; None when they say that nothing
            was decided.
        document: `HarnessResult.to_dict()` as the framework carries it; further keys may stand beside. None for a bare
            evaluator.
        precision: the calibrated precision the result states; None when it states none.
        marks: (perturbation, repetition) of each call that the framework's own callbacks or observers saw.

    """

    answer: Any
    plain: Mapping[str, Any]
    verdict: str | None
    document: Mapping[str, Any] | None = None
    precision: float | None = None
    marks: tuple[tuple[str, int], ...] = ()


class Evaluator(Protocol):
    """An evaluator of the framework.

    `second` is answer B of a pair; otherwise what the framework shows beside the answer, such as a reference.
    """

    def evaluate(self, first: str, second: str) -> Native:
        """Evaluate by the sync face."""
        ...

    async def aevaluate(self, first: str, second: str) -> Native:
        """Evaluate by the async face."""
        ...


class HarnessedEvaluator(Evaluator, Protocol):
    """The same evaluator under a harness."""

    @property
    def judge(self) -> Judge:
        """Whom it asks; `harness.calibrate` takes it."""
        ...

    def case(self, first: str, second: str) -> Case:
        """Return what the judge is given for these texts."""
        ...


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One evaluator of a framework, over a scripted model that is a real model class of that framework.

    Args:
        name: what it is, as reports call it.
        pairwise: whether it compares two answers; else it answers PASS or FAIL.
        harnessed: (script, harness) -> the evaluator as users harness it.
        bare: script -> the evaluator as the framework has it, asking once.
        perturbation: one that fits its cases, besides `none`; `position_swap` where two texts stand side by side.
        caching: switches the framework's cache on, where it has one.
        opted_out: check -> why it says nothing about this evaluator.

    Raises:
        UsageError: a check is opted out of without a reason.

    """

    name: str
    pairwise: bool
    harnessed: Callable[[Script, JudgeHarness], HarnessedEvaluator]
    bare: Callable[[Script], Evaluator] | None = None
    perturbation: str = "position_swap"
    caching: Callable[[], AbstractContextManager[object]] | None = None
    opted_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse opting out without a reason."""
        if silent := [name for name, reason in self.opted_out.items() if not reason.strip()]:
            raise UsageError(f"bench {self.name!r} opts out of {silent[0]!r}: say why.")
