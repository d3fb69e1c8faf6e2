"""What an adapter brings to the conformance suite: one of its evaluators on the bench, over a scripted model."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.cases import Case
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge

GARBAGE: Final = "GARBAGE"
_PATIENCE_S = 10.0  # a thread cannot be cancelled, so it does not wait for ever
_GLANCE_S = 0.002

# A label, or what is raised, for each call in turn, over and over; or a function of the prompt.
Labels: TypeAlias = "Sequence[str | Exception] | Callable[[str], str]"


class Script:
    """What the model behind a framework's judge answers.

    An adapter's fake model shows it the whole prompt, by `ask` or `aask`, and makes the framework's reply text of the
    label it gets: `A` (the answer that stands first in the prompt), `B`, `TIE`; `PASS`, `FAIL` of a graded answer;
    `GARBAGE`, which becomes a reply that nobody can read. What it raises is to be raised.

    Attributes:
        prompts: what was asked, in order of arrival.
        cancelled: how many async calls were cancelled.

    """

    def __init__(self, labels: Labels, *, holding: bool = False) -> None:
        """Prepare the labels; a model that is `holding` answers nobody before its `release`."""
        self._turns = None if callable(labels) else itertools.cycle(labels)
        self._choose = labels if callable(labels) else None
        self._lock = threading.Lock()
        self._released = threading.Event()
        if not holding:
            self._released.set()
        self.prompts: list[str] = []
        self.cancelled = 0
        self.waiting = 0  # calls that have not been answered
        self.waiting_async = 0

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.prompts)

    def release(self) -> None:
        """Answer the calls that wait, and later ones at once."""
        self._released.set()

    def ask(self, prompt: str) -> str:
        """Return the label for a prompt, from a sync client."""
        with self._counted(prompt):
            self._released.wait(_PATIENCE_S)
            return self._label(prompt)

    async def aask(self, prompt: str) -> str:
        """Return the label for a prompt, from an async client."""
        with self._counted(prompt):
            self.waiting_async += 1
            try:
                while not self._released.is_set():  # noqa: ASYNC110 - an asyncio.Event belongs to one loop
                    await asyncio.sleep(_GLANCE_S)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.waiting_async -= 1
            return self._label(prompt)

    @contextmanager
    def _counted(self, prompt: str) -> Iterator[None]:
        with self._lock:
            self.prompts.append(prompt)
            self.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self.waiting -= 1

    def _label(self, prompt: str) -> str:
        if self._choose is not None:
            return self._choose(prompt)
        with self._lock:
            label = next(self._turns or iter(()))
        if isinstance(label, Exception):
            raise label
        return label


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
