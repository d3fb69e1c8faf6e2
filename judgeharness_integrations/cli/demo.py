"""`judgeharness demo`: what rules change on recorded verdicts, printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli.demonstration import SOURCE, JudgeShown, run_demo
from judgeharness_integrations.cli.demonstration.recorded import RULES
from judgeharness_integrations.reporting.terminal import console, table
from judgeharness_integrations.verdictlog.plain import percent


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
