"""Pairs of runs to compare: written short, or simulated from a judge whose noise is known."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.verdictlog.row import VerdictRow
from support.rows import both_orders, sampled

if TYPE_CHECKING:
    import numpy as np

    from judgeharness_integrations.analysis.comparison import ComparisonReport
    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.verdictlog.row import Verdict

Sampler = Callable[["np.random.Generator", int], list[VerdictRow]]


def a_run(cases: Mapping[str, Any], rule: Any = "majority", *, source: str = "a", **common: Any) -> RunReport:
    """A report of cases: samples of each, or (samples as shown, samples swapped)."""
    facts = {name: common.pop(name) for name in ("run", "case_texts", "cases_digest", "state") if name in common}
    rows = [row for case_id, samples in cases.items() for row in rows_of(case_id, samples, **common)]
    return run_report(results_of_log(rows, rule, rule_fixed="before"), source=source, **facts)


def rows_of(case_id: str, samples: Any, **common: Any) -> list[VerdictRow]:
    """Rows of one case, written as `a_run` takes them."""
    if isinstance(samples, tuple):
        return both_orders(*samples, case_id=case_id, **common)
    return sampled(samples, case_id=case_id, **common)


@dataclass
class Simulation:
    """Runs of a judge, made fast: a case whose samples were seen before is measured no second time."""

    rule: str
    seen: dict[Hashable, HarnessResult] = field(default_factory=dict)
    frame: RunReport | None = None

    def run(self, samples: Iterable[tuple[Sequence[Verdict], Sequence[Verdict]]]) -> RunReport:
        """A run whose cases have these samples (as shown, swapped)."""
        results = tuple(replace(self._measured(*one), case_id=f"c{place}") for place, one in enumerate(samples))
        if self.frame is None:
            self.frame = run_report(results, source="simulated")
        return replace(self.frame, results=results)

    def _measured(self, shown: Sequence[Verdict], swapped: Sequence[Verdict]) -> HarnessResult:
        key = (tuple(sorted(shown, key=str)), tuple(sorted(swapped, key=str)))
        if key not in self.seen:
            rows = both_orders(*key, case_id="c") if swapped else sampled(key[0], case_id="c")
            self.seen[key] = results_of_log(rows, self.rule, rule_fixed="before")[0]
        return self.seen[key]


def drawn_labels(
    random: np.random.Generator, chances: np.ndarray[Any, Any], labels: Sequence[str], *, shown: int, swapped: int
) -> Iterator[tuple[list[str], list[str]]]:
    """Samples of cases whose labels have these chances, one row a case."""
    shown_counts = random.multinomial(shown, chances)
    swapped_counts = random.multinomial(swapped, chances)
    for first, second in zip(shown_counts.tolist(), swapped_counts.tolist(), strict=True):
        yield (
            [label for label, count in zip(labels, first, strict=True) for _ in range(count)],
            [label for label, count in zip(labels, second, strict=True) for _ in range(count)],
        )


def documented_comparisons() -> list[ComparisonReport]:
    """Comparisons of many shapes: together they hold every key of the schema."""
    from judgeharness_integrations.analysis.comparison import compare

    passed, failed = ["PASS"] * 3, ["FAIL"] * 3
    graded = {f"c{i}": passed if i % 3 else failed for i in range(24)}
    changed = {**graded, "c1": failed, "c2": ["PASS", "FAIL", None], "c4": [None] * 3, "new": passed}
    scored = {f"c{i}": [i % 9, i % 9 + 1] for i in range(24)}
    higher = {case: [low + 1.5, high + int(case[1:]) % 3] for case, (low, high) in scored.items()}
    colours = {f"c{i}": [("red", "green", "blue")[i % 3]] * 2 for i in range(24)}
    copies = joined(
        a_run({"c0": passed}, attributes={"reused_from": "first"}),
        a_run({"c1": passed}, raw="x" * 300),
        a_run({"c2": passed, "c3": failed}),
    )
    others = joined(a_run({"c0": failed}, judge="other"), a_run({"d0": failed}, criterion="tone"))
    return [
        compare(a_run(graded, gold="PASS", run="one"), a_run(changed, gold="PASS", run="two", model="gpt")),
        compare(a_run(graded, gold="PASS"), a_run({**graded, "c1": failed}, gold="FAIL")),
        compare(a_run(scored, "mean"), a_run(higher, "mean"), detect=0.00001),
        compare(a_run(colours), a_run({**colours, "c0": ["green"] * 2})),
        compare(
            joined(*(a_run({case: one}, attributes={"cluster": int(case[1:]) // 4}) for case, one in graded.items())),
            a_run({**graded, "c1": failed, "c9": passed}),
        ),
        compare(joined(a_run(graded), a_run({"c0": passed}, judge="second")), joined(a_run(graded), others)),
        compare(copies, copies),
        compare(a_run({"c0": ["PASS"]}), a_run({"c0": ["FAIL"]})),
        compare(a_run({"c0": ["PASS"]}), a_run({"c1": ["FAIL"]})),
        compare(a_run({"c0": [frozenset({"x"})] * 2}), a_run({"c0": [frozenset({"x", "y"})] * 2})),
        compare(a_run({"c0": [5, 5]}, "median"), a_run({"c0": passed})),
    ]


def joined(*reports: RunReport) -> RunReport:
    """One report of the results of several."""
    return run_report([result for report in reports for result in report.results])
