"""Planted judges that are asked in turn: whether a case is easy stands in its text, and who is right where is known."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from judgeharness_integrations import AnswerCase, JudgeHarness, JudgeIdentity
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.calibration.saved import labelled_last_asked
from judgeharness_integrations.analysis.certifying.cascade import Cascade, certify_cascade
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.verdictlog import VerdictRow

__all__ = [
    "CHEAP",
    "DESIGN",
    "STRONG",
    "Planted",
    "cascade_of",
    "configured",
    "labelled",
    "rows_of",
    "waiting_cases",
]

DESIGN: dict[str, Any] = {"perturbations": ["none"], "repetitions": 6, "aggregation_rule": "majority"}
_OTHER = {"PASS": "FAIL", "FAIL": "PASS"}


@dataclass(frozen=True)
class Planted:
    """Right about easy and about hard cases so often, in samples that depend on nothing else; torn ones toss a coin."""

    name: str
    easy: float
    hard: float
    model: str = "model-1"

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity(name=self.name, model=f"{self.name}-{self.model}")

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return (Criterion(name="verdict", labels=("PASS", "FAIL")),)

    async def judge(self, probe: Probe) -> Judgment:
        truth = "PASS" if "good" in probe.case.output else "FAIL"
        text = probe.case.output
        right = 0.5 if "torn" in text else self.easy if "easy" in text else self.hard
        place = (self.name, probe.case_id, probe.perturbation.name, probe.repetition)
        drawn = int(hashlib.sha256(repr(place).encode()).hexdigest()[:8], 16) / 2**32
        said = truth if drawn < right else _OTHER[truth]
        tokens = {"input_tokens": 100, "output_tokens": 10}
        return Judgment(answers=(Answer(verdict=said),), model=self.identity.model, **tokens)


CHEAP, STRONG = Planted("cheap", 1.0, 0.5), Planted("strong", 1.0, 1.0)


def _case(number: int, prefix: str, *, gold: bool, kind: str) -> AnswerCase:
    good = random.Random(number).random() < 0.5  # noqa: S311 - planted cases
    text = f"{'good' if good else 'poor'} {kind} {prefix} {number}"
    truth = "PASS" if good else "FAIL"
    return AnswerCase(case_id=f"{prefix}{number}", input="q", output=text, gold=truth if gold else None)


def labelled(count: int = 300) -> list[AnswerCase]:
    """Cases with labels, every other one easy."""
    return [_case(n, "l", gold=True, kind="hard" if n % 2 else "easy") for n in range(count)]


def waiting_cases(kinds: str) -> list[AnswerCase]:
    """Return a case of each kind, without labels."""
    return [_case(n, "c", gold=False, kind=kind) for n, kind in enumerate(kinds.split())]


@cache
def rows_of(judges: tuple[Planted, ...] = (CHEAP, STRONG)) -> tuple[VerdictRow, ...]:
    """The rows of judges about all labelled cases."""
    cases = labelled()
    golds = {case.case_id: case.gold for case in cases}
    results = [one for judge in judges for one in JudgeHarness(**DESIGN).evaluate_many(judge, cases)]
    return tuple(_with_gold(row, golds[row.case_id]) for one in results for row in one.rows)


def _with_gold(row: VerdictRow, gold: Any) -> VerdictRow:
    return replace(row, gold=gold)


@cache
def cascade_of(judges: tuple[Planted, ...] = (CHEAP, STRONG), **wanted: float) -> Cascade:
    """The cascade of judges, certified on their own answers, for the design they are asked with."""
    design = JudgeHarness(**DESIGN).design
    rows = rows_of(judges)
    return certify_cascade(
        rows,
        [(judge.name, rule("majority")) for judge in judges],
        Wanted(**wanted),  # type: ignore[arg-type]
        Labels(name="people"),
        criterion="verdict",
        measured_at=str(labelled_last_asked(rows)),
        parts={judge.name: fingerprint_parts(judge, design) for judge in judges},
    )


def configured(folder: Path, name: str, **changes: Any) -> Path:
    """Write a configuration of the two judges, which stand in this module, with prices of their models."""
    judges = [
        {"name": one.name, "callable": f"support.judges_in_turn:{one.name.upper()}", "model": one.identity.model}
        for one in (CHEAP, STRONG)
    ]
    prices = {"cheap-model-1": {"input": 1, "output": 1}, "strong-model-1": {"input": 20, "output": 20}}
    whole = {"judges": judges, "harness": DESIGN, "execution": {"prices": prices}} | changes
    path = folder / f"{name}.json"
    path.write_text(json.dumps(whole))
    return path


def case_file(cases: list[AnswerCase], path: Path) -> str:
    """Write cases as a file of them, and return its name."""
    lines = [{name: getattr(case, name) for name in ("case_id", "input", "output", "gold")} for case in cases]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path.name
