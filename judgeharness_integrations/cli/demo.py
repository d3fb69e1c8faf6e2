"""`judgeharness demo`: what rules change on recorded verdicts, through the real harness: no key, no network.

The verdicts are of five judges on the 419 pairs of LLMBar, each pair shown in both orders (Zeng et al. 2024, Evaluating
Large Language Models at Evaluating Instruction Following, MIT License); see `demonstration/README.md` beside the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

from rich.table import Table
from rich.text import Text

from judgeharness_integrations.analysis.replay import JudgeReplay, replay
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.cli._command import command
from judgeharness_integrations.judging.cases import PairwiseCase
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.reporting.terminal import console, table
from judgeharness_integrations.testing import RecordedJudge
from judgeharness_integrations.verdictlog import MemoryLog, VerdictRow, read_log
from judgeharness_integrations.verdictlog.plain import percent

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
    with as_file(files("judgeharness_integrations.cli") / "demonstration" / "llmbar_five_judges.csv.gz") as path:
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


@dataclass(frozen=True, kw_only=True)
class DemoRequest:
    """Show on real, recorded verdicts what rules change. No key, no network, no calls."""


_HALF = 0.5


def show_demo(request: DemoRequest) -> None:
    """Run the demo and print it."""
    del request
    demo, screen = run_demo(), console()
    pairs = demo.judges[0].pairs
    screen.print(
        f"Recorded verdicts, not live calls: {len(demo.judges)} judges on the {pairs} pairs of {SOURCE}, each pair "
        f"shown in both orders: {demo.calls} answers. They go through the harness as a judge's answers would; nothing "
        "is asked, no key and no network are used."
    )
    screen.print(_table(demo.judges))
    screen.print()
    for paragraph in _lesson(demo.judges):
        screen.print(paragraph)
        screen.print()
    example = demo.example
    screen.print(Text(f"One of {demo.judges[0].judge}'s pairs, whose verdict changed with the order:", style="bold"))
    screen.print()
    screen.print(Text(example.report().rstrip()))


def _table(judges: Sequence[JudgeShown]) -> Table:
    columns = ("%", *(judge.judge.replace("/", "\n").replace("_", "_\n") for judge in judges))
    return table("One call against a rule", columns, _rows(judges), whole=True)


def _rows(judges: Sequence[JudgeShown]) -> Iterator[list[str | Text]]:
    def line(name: str, value: Callable[[JudgeShown], str]) -> list[str | Text]:
        return [name, *map(value, judges)]

    def call(perturbation: str) -> Callable[[JudgeShown], str]:
        return lambda judge: percent((judge.rules[RULES[0]].single_call_accuracy or {})[perturbation])

    yield line("one call, original order", call("none"))
    yield line("one call, swapped order", call("position_swap"))
    yield line("flips with the order", lambda judge: percent(judge.flips / judge.pairs))
    yield line("P(first): slot-one wins", lambda judge: percent(judge.rules[RULES[0]].first_slot_rate))
    yield line("", lambda _: "")
    yield [Text("right, share decided", style="bold"), *("" for _ in judges)]
    for rule in RULES:
        yield line(f" {rule}", lambda judge, rule=rule: _cell(judge, rule))  # type: ignore[misc]


def _cell(judge: JudgeShown, rule: str) -> str:
    entry = judge.rules[rule]
    return f"{percent(entry.accuracy)} {100 * (entry.coverage or 0.0):3.0f}%"


def _lesson(judges: Sequence[JudgeShown]) -> Iterator[str]:
    better = [judge.judge for judge in judges if judge.gain > 0]
    worse = [judge.judge for judge in judges if judge.gain <= 0]
    above = {judge.judge for judge in judges if judge.single_call > _HALF}
    exactly = ", exactly the ones above 50 %" if set(better) == above else ""
    yield (
        "Consistency is not correctness. Abstaining when the order changes the verdict (swap_consensus) raises the "
        f"accuracy of the decided pairs for {', '.join(better)}{exactly}, and lowers it for {', '.join(worse)}: a "
        "judge that is wrong more often than right agrees with itself on its errors."
    )
    yield (
        "With one call per order, majority, strict_majority, abstain_on_disagreement and swap_consensus differ only "
        "where a call failed. net_preference decides every pair that was answered at all and calls a flip "
        "a TIE, which no gold label here is: the same answers, another ranking. So no accuracy stands without its "
        "rule and coverage, and only labels tell whether a rule helps."
    )


demo = command(DemoRequest, show_demo)
