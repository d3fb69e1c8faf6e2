"""A small measurement by batch on the loopback server: real clients, a log, and what the server saw."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from judgeharness_integrations import JudgeHarness, PairwiseCase
from judgeharness_integrations.judging.execution.batch_engine import BatchExecutor, Terms
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.sql.batches import BatchJournal
from support.batch_server import BatchServer, Faults
from support.openai_server import Reply
from support.provider_clients import MODELS

if TYPE_CHECKING:
    from pathlib import Path

    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.verdictlog import VerdictRow
    from support.provider_server import Request, Script

__all__ = ["Batched", "longer", "pairs"]

CALLS = 6  # of a case


def longer(request: Request) -> Reply:
    """The verdict of a judge that prefers the answer with more signs, through the tool it is made to call."""
    text = request.user
    verdict = "A" if text.find("long" * 3) < text.find("short") else "B"
    return Reply.json({"reasoning": f"answer {request.number}", "verdict": verdict})


def pairs(count: int) -> list[PairwiseCase]:
    """Cases of which every other one has the longer answer first."""
    texts = ("long" * 3, "short")
    return [
        PairwiseCase(case_id=f"case {n}", input=f"Question {n}?", output=texts[n % 2], output_b=texts[1 - n % 2])
        for n in range(count)
    ]


class Batched:
    """A judge that is asked by batch, as often as a test goes on with its run; `told` is what it was told meanwhile."""

    def __init__(
        self, folder: Path, provider: str = "openai", *, faults: Faults | None = None, script: Script = longer
    ) -> None:
        self.provider, self.told = provider, list[str]()
        self._stack = ExitStack()
        self.server = self._stack.enter_context(BatchServer(script, faults))
        self.log = self._stack.enter_context(SqlLog(folder / "verdicts.sqlite"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def judge(self, **options: Any) -> Any:
        """The judge over the provider's real client, made to call a tool; `options` are those of its model."""
        from judgeharness_langchain import PairwiseJudge

        return PairwiseJudge(MODELS[self.provider](self.server, **options), output="structured")

    def results(self, cases: int = 4, *, judge: Any = None, terms: Any = None, **options: Any) -> list[HarnessResult]:
        """The results of the run, which goes on with what its log knows."""
        own = {"poll_s": 0.02, "settle_s": 0.0, "tell": self.told.append, **(terms or {})}
        settings = {"log": self.log, "run": "run", "executor": BatchExecutor(terms=Terms(**own)), **options}
        harness = JudgeHarness.standard("pairwise", **settings)
        return list(harness.evaluate_many(judge or self.judge(), pairs(cases)))

    @property
    def journal(self) -> BatchJournal:
        """What the log knows of batches."""
        return BatchJournal(self.log.store)

    def rows(self) -> list[VerdictRow]:
        """The rows of the run."""
        return list(self.log.rows(run="run"))

    @property
    def most_paid(self) -> int:
        """How often a request was answered at most."""
        return max(self.server.finish().values(), default=0)
