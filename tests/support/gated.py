"""Reports of many small cases, written short: a label or score a case, folded by majority or median."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import RunReport, run_report
from support.measured import measured
from support.rows import sampled

REPEATED: dict[str, Any] = {"perturbations": ("none",), "repetitions": 3}


def case(name: str, verdicts: Iterable[Any], *, gold: Any = None, cluster: str | None = None, **facts: Any) -> Any:
    """A case with these samples; None is a sample that could not be parsed."""
    attributes = {} if cluster is None else {"cluster": cluster}
    judge = {"judge": facts["judge"]} if "judge" in facts else {}
    rows = [replace(row, gold=gold, attributes=attributes) for row in sampled(verdicts, case_id=name, **judge)]
    return measured(rows, case_id=name, **REPEATED | facts)


def labelled(counts: dict[Any, int], **facts: Any) -> list[HarnessResult]:
    """So many cases of each label, three equal samples each."""
    verdicts = [label for label, count in counts.items() for _ in range(count)]
    return [case(f"c{place}", [verdict] * 3, **facts) for place, verdict in enumerate(verdicts)]


def passes(passed: int, failed: int, **facts: Any) -> RunReport:
    """A report with so many cases that passed and failed."""
    return run_report(labelled({"PASS": passed, "FAIL": failed}, **facts))


def scores(values: Sequence[float], **facts: Any) -> RunReport:
    """A report of scores, three equal samples a case."""
    facts = {"rule_name": "median"} | facts
    return run_report([case(f"c{place}", [value] * 3, **facts) for place, value in enumerate(values)])
