"""The demo's measurement: five recorded judges, two calls a pair, every label rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

from judgeharness_integrations.analysis.replay import JudgeReplay, replay
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.cases import PairwiseCase
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.testing import RecordedJudge
from judgeharness_integrations.verdictlog import MemoryLog, VerdictRow, read_log

SOURCE = "LLMBar (Zeng et al. 2024, MIT License)"
RULES = ("majority", "strict_majority", "abstain_on_disagreement", "swap_consensus", "net_preference")
_RULE = "swap_consensus"
_PLACEHOLDER = "(not included: the recording holds verdicts, no texts)"


@dataclass(frozen=True, kw_only=True)
class JudgeShown:
    """One judge: rule -> what the rule makes of its answers; `flips` pairs of `pairs` changed with the order."""

    judge: str
    rules: Mapping[str, JudgeReplay]
    flips: int
    pairs: int

    @property
    def single_call(self) -> float:
        """Accuracy of one call, both orders together."""
        by_order = self.rules[_RULE].single_call_accuracy or {}
        return sum(value or 0.0 for value in by_order.values()) / max(len(by_order), 1)

    @property
    def gain(self) -> float:
        """What abstaining on flips adds to the accuracy of the decided pairs."""
        return (self.rules[_RULE].accuracy or 0.0) - self.single_call


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the demo shows; `example` is the measurement of a pair whose judge flipped."""

    judges: tuple[JudgeShown, ...]
    example: HarnessResult
    calls: int


def run_demo() -> Demo:
    """Ask the recorded judges through the harness, in both orders, and fold their answers with every rule."""
    with as_file(files("judgeharness_integrations.cli.demonstration") / "llmbar_five_judges.csv.gz") as path:
        recorded = read_log(path)
    names = list(dict.fromkeys(row.judge for row in recorded))
    cases, log = _cases(recorded), MemoryLog()
    harness = JudgeHarness(
        perturbations=("none", "position_swap"),
        repetitions=1,
        aggregation_rule=_RULE,
        log=log,
        run="demo",
        observers=(),
    )
    results = {
        name: list(harness.evaluate_many(RecordedJudge(recorded, name=name), cases, _model(name))) for name in names
    }
    rows = list(log.rows())
    reports = {rule: replay(rows, rule, rule_fixed="before" if rule == _RULE else "after").judges for rule in RULES}
    judges = tuple(
        JudgeShown(
            judge=name,
            rules={rule: entries[place] for rule, entries in reports.items()},
            flips=sum(map(_flipped, results[name])),
            pairs=len(results[name]),
        )
        for place, name in enumerate(names)
    )
    return Demo(judges=judges, example=_example(results[names[0]], cases), calls=len(rows))


def _model(judge: str) -> str:
    return f"{judge.split('/', maxsplit=1)[0]}, recorded"


def _cases(recorded: Iterable[VerdictRow]) -> list[PairwiseCase]:
    golds = {row.case_id: row.gold for row in recorded}
    return [
        PairwiseCase(case_id=case_id, input=_PLACEHOLDER, output=_PLACEHOLDER, output_b=_PLACEHOLDER, gold=gold)
        for case_id, gold in golds.items()
    ]


def _flipped(result: HarnessResult) -> bool:
    return bool(result.flip_rates["position_swap"])


def _example(results: Iterable[HarnessResult], cases: Sequence[PairwiseCase]) -> HarnessResult:
    """Return the first flipped pair in the order of the cases; results come in order of completion."""
    flipped = {result.case_id: result for result in results if _flipped(result)}
    return next(flipped[case.case_id] for case in cases if case.case_id in flipped)
