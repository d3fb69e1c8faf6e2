"""Judges whose answers are known beforehand: scripted ones, and what a log recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.judge import (
    Answer,
    JudgeIdentity,
    Judgment,
    Probe,
    as_judgment,
)
from judgeharness_integrations.judging.marks import code_in, verdict_line
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow


class ScriptedJudge:
    """Answers from a list, in order of asking; the list cycles. An exception in the list is raised.

    Anything `as_judgment` takes is an answer. `probes` keeps what was asked.
    """

    def __init__(
        self,
        answers: Iterable[Any],
        *,
        name: str = "scripted",
        identity: JudgeIdentity | None = None,
        criteria: Sequence[Criterion] | None = None,
        supports: Iterable[str] = (),
        instructions: str | None = None,
    ) -> None:
        """Prepare the answers; nothing is asked yet."""
        self._answers = itertools.cycle(list(answers))
        self.name = name
        self.identity = identity
        self.criteria = tuple(criteria) if criteria is not None else None
        self.supports = frozenset(supports)
        self.instructions = instructions
        self.probes: list[Probe] = []

    async def judge(self, probe: Probe) -> Judgment:
        """Return the next answer."""
        self.probes.append(probe)
        answer = next(self._answers)
        if isinstance(answer, BaseException):
            raise answer
        return as_judgment(answer)


class RecordedJudge:
    """Answers what a verdict log recorded for (case, perturbation, repetition); the frame shown is restored.

    A probe the log does not hold is an error.
    """

    def __init__(self, rows: Iterable[VerdictRow], *, name: str) -> None:
        """Take the rows of that judge."""
        self.name = name
        self.criteria: tuple[Criterion, ...] | None = None
        self.identity: JudgeIdentity | None = JudgeIdentity(name=name, parameters={"recorded": True})
        self._rows: dict[tuple[str, str, int], list[VerdictRow]] = {}
        for row in rows:
            if row.judge == name:
                self._rows.setdefault((row.case_id, row.perturbation, row.repetition), []).append(row)

    async def judge(self, probe: Probe) -> Judgment:
        """Return the recorded answer."""
        key = (probe.case_id, probe.perturbation.name, probe.repetition)
        if key not in self._rows:
            raise LookupError(f"judge {self.name!r} has no recorded answer for {key}")
        return Judgment(answers=tuple(_as_shown(row, probe) for row in self._rows[key]))


SWAPPED: Mapping[Verdict, str] = {"A": "B", "B": "A"}
_NEGATED: Mapping[Verdict, str] = {"PASS": "FAIL", "FAIL": "PASS"}


def _as_shown(row: VerdictRow, probe: Probe) -> Answer:
    """Return a recorded answer in the frame the judge was shown: the log holds the canonical one."""
    change, shares = probe.perturbation, row.probabilities
    mirror = {**(SWAPPED if change.swaps else {}), **(_NEGATED if change.negates else {})}
    return Answer(
        criterion=row.criterion,
        verdict=None if row.verdict is None else mirror.get(row.verdict, row.verdict),
        outcome=row.outcome,
        reasoning=row.reasoning,
        probabilities=None if shares is None else {mirror.get(name, name): share for name, share in shares.items()},
    )


def verdict_text(prompt: str, verdict: object, *, reasons: str = "So it is.") -> str:
    """Return reasons and, on the last line, a verdict as the prompt asks for it: after the code of the case.

    Args:
        prompt: what the model was told, all messages of it.
        verdict: what stands in place of the verdict: `Assistant A`, 7, `PASS`, a JSON text.
        reasons: what comes before.

    """
    code = code_in(prompt)
    return f"{reasons}\n\n{verdict if code is None else verdict_line(code, verdict)}"
