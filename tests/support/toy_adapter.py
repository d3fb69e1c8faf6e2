"""A framework of one class, and its adapter on the bench: subclasses of `Toy` are adapters with one defect each."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from judgeharness_integrations import AnswerCase, Criterion, HarnessResult, JudgeHarness, JudgeIdentity, PairwiseCase
from judgeharness_integrations.judging.adapterkit import GARBAGE, Bench, Native, Script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judgeharness_integrations.judging.judge import Probe

__all__ = ["Toy", "ToyJudge", "ToyModel", "toy_bench"]

Judged = Any


class ToyModel:
    """The framework's model, with a cache for who switches it on."""

    caching = False
    cache: dict[str, str] = {}  # noqa: RUF012 - shared, as caches of frameworks are

    def __init__(self, script: Script) -> None:
        self.script = script

    async def says(self, prompt: str, key: object = "") -> str:
        entry = f"{key}|{prompt}"
        if self.caching and entry in self.cache:
            return self.cache[entry]
        self.cache[entry] = label = await self.script.aask(prompt)
        return label


class ToyJudge:
    """The adapter's judge: it shows the texts in their order, a line each."""

    identity = JudgeIdentity(name="toy", model="toy-1")
    name = "toy"

    def __init__(self, model: ToyModel, *, pairwise: bool) -> None:
        self.model = model
        self.criteria = (Criterion(name="verdict", labels=("A", "B", "TIE") if pairwise else ("PASS", "FAIL")),)
        self.marks: list[tuple[str, int]] = []

    async def judge(self, probe: Probe) -> Judged:
        from judgeharness_integrations.judging.judge import as_judgment

        self.marks.append((probe.perturbation.name, probe.repetition))
        return as_judgment(self.read(await self.ask(probe), probe))

    async def ask(self, probe: Probe) -> str:
        return await self.model.says(self.prompt(probe), key=(probe.perturbation.name, probe.repetition))

    def prompt(self, probe: Probe) -> str:
        return "\n".join(probe.case.texts())

    def read(self, label: str, probe: Probe) -> str | None:
        return None if label == GARBAGE else label


class Toy:
    """The harnessed evaluator, without a defect."""

    judge_class = ToyJudge

    def __init__(self, script: Script, harness: JudgeHarness, *, pairwise: bool) -> None:
        self.script = script
        self.harness = harness
        self.pairwise = pairwise
        self.judge = self.new_judge()

    def new_judge(self) -> Any:
        return self.judge_class(ToyModel(self.script), pairwise=self.pairwise)

    def case(self, first: str, second: str) -> AnswerCase:
        if self.pairwise:
            return PairwiseCase(case_id="toy", output=first, output_b=second)
        return AnswerCase(case_id="toy", output=first)

    def evaluate(self, first: str, second: str) -> Native:
        judge = self.new_judge()
        return self.native(self.harness.evaluate(judge, self.case(first, second)), judge.marks)

    async def aevaluate(self, first: str, second: str) -> Native:
        judge = self.new_judge()
        return self.native(await self.harness.aevaluate(judge, self.case(first, second)), judge.marks)

    def native(self, result: HarnessResult, marks: list[tuple[str, int]]) -> Native:
        verdict, document = self.verdict(result), self.document(result)
        plain = {"verdict": verdict}
        answer = {**plain, "harness": document}
        precision = self.precision(result)
        return Native(
            answer=answer, plain=plain, verdict=verdict, document=document, precision=precision, marks=tuple(marks)
        )

    def verdict(self, result: HarnessResult) -> str | None:
        return str(result.verdict) if result.status == "decided" else None

    def document(self, result: HarnessResult) -> dict[str, Any]:
        return result.to_dict()

    def precision(self, result: HarnessResult) -> float | None:
        return result.calibrated_precision


class _Bare:
    """The framework's own evaluator."""

    def __init__(self, script: Script) -> None:
        self.model = ToyModel(script)

    async def aevaluate(self, first: str, second: str) -> Native:
        label = await self.model.says(f"{first}\n{second}")
        return Native(answer={"verdict": label}, plain={"verdict": label}, verdict=label)

    def evaluate(self, first: str, second: str) -> Native:
        return asyncio.run(self.aevaluate(first, second))


@contextmanager
def _cached() -> Iterator[None]:
    ToyModel.caching, ToyModel.cache = True, {}
    try:
        yield
    finally:
        ToyModel.caching = False


def toy_bench(toy: type[Toy] = Toy, *, pairwise: bool = True, **changes: Any) -> Bench:
    """The bench of a toy; `changes` are fields of `Bench`."""
    fields: dict[str, Any] = {
        "name": "toy",
        "pairwise": pairwise,
        "harnessed": lambda script, harness: toy(script, harness, pairwise=pairwise),
        "bare": _Bare,
        "perturbation": "position_swap" if pairwise else "format_change",
        "caching": _cached,
        "opted_out": {} if pairwise else {"original_frame": "one answer has no order"},
    }
    return Bench(**fields | changes)
