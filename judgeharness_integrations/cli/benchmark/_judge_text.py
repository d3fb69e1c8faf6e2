"""What `judgeharness benchmark judge` prints: the plan and what is saved, then a table of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from judgeharness_integrations.benchmark.judging.summary import JudgeDocument, JudgeSummary, Orders, RightShare
from judgeharness_integrations.cli._printing import console, percent, safe, table
from judgeharness_integrations.cli.benchmark._columns import counted
from judgeharness_integrations.cli.benchmark._judge_asked import Asked
from judgeharness_integrations.reporting.plain import safe_text

if TYPE_CHECKING:
    from judgeharness_integrations.cli.benchmark._judge import JudgeRequest

__all__ = ["print_plan", "print_summary"]

_LONGEST_PATH = 400
_LONGEST_REMARK = 400
_SAID: Final = (
    "pairs: those about which every call was answered; in brackets the 95 % interval",
    "no answer: calls that failed or were not made: missing; unparsed, refused and undecided answers are wrong",
)
_ORDERS: Final[Mapping[Orders, str]] = {
    "both": "both orders, which must agree",
    "one": "one order, informal: what an answer owes to the order a pair is shown in is not seen",
}


def print_plan(asked: Sequence[tuple[Asked, int]], *, pairs: int, request: JudgeRequest, stderr: bool) -> None:
    """Print who is asked about how many pairs, and how many calls of that are `left` to be made."""
    screen = console(stderr=stderr)
    rows: list[list[str | Text]] = [
        [safe(one.judge.name), one.design.mode, *map(str, (len(one.pairs), one.planned, one.planned - left, left))]
        for one, left in asked
    ]
    planned, todo = sum(one.planned for one, _ in asked), sum(left for _, left in asked)
    if len(rows) > 1:
        rows.append(["together", "", "", str(planned), str(planned - todo), str(todo)])
    screen.print(table("plan", ("judge", "mode", "pairs", "calls", "answered\nbefore", "left"), rows, texts=2))
    whole = sum(pairs * one.design.calls for one, _ in asked)
    for line in _plan_lines(asked, planned, whole, request):
        screen.print(line, soft_wrap=True)


def _plan_lines(asked: Sequence[tuple[Asked, int]], planned: int, whole: int, request: JudgeRequest) -> Iterator[str]:
    savers = [] if request.sample is None else [safe_text(f"--sample {request.sample}", _LONGEST_PATH)]
    savers += [f"--fraction {request.fraction:g}"] if request.fraction < 1 else []
    if savers:
        saves = f"{' and '.join(savers)} save{'s' if len(savers) == 1 else ''}"
        yield f"{planned} of {whole} calls; {saves} {whole - planned} ({percent((whole - planned) / whole)} %)"
    else:
        yield f"{planned} calls: every judge about every pair"
    for design in {one.design.mode: one.design for one, _ in asked}.values():
        shown = "each conversation by itself" if design.mode == "pointwise" else _ORDERS[request.orders]
        yield f"{design.mode}: {shown}; rule {design.rule}; {counted(design.calls, 'call')} a pair"
    spending = request.spending
    limits = [f"{spending.max_calls} calls, retries included"] if spending.max_calls is not None else []
    limits += [f"{spending.max_cost:g} of money, by the prices of --models"] if spending.max_cost is not None else []
    yield f"upper limit: {' and '.join(limits)}" if limits else "no upper limit given; a call that fails is tried again"


def print_summary(document: JudgeDocument, *, folder: Path) -> None:
    """Print what each judge was right about, mode by mode, and what comes next."""
    screen = console()
    for mode, rule in document.rules.items():
        found = [one for one in document.judges if one.mode == mode]
        columns = ("judge", "pairs", "verdict", "turn", "type", "all three", "no\nanswer", "cost")
        informal = ", informal" if document.informal and mode == "pairwise" else ""
        screen.print(table(f"{mode}, {rule}{informal}: right, in % of the pairs", columns, map(_row, found)))
    for remark in dict.fromkeys(remark for one in document.judges for remark in one.took.cost_remarks):
        screen.print(safe(f"cost: {remark}", _LONGEST_REMARK), soft_wrap=True)
    for line in _SAID:
        screen.print(line, soft_wrap=True)
    screen.print(safe(f"next: judgeharness benchmark rank {folder}", _LONGEST_PATH), soft_wrap=True)


def _row(one: JudgeSummary) -> list[str | Text]:
    shares = (one.verdict, one.turn, one.type, one.joint)
    asked = f"{one.joint.of}" if one.joint.of == one.pairs else f"{one.joint.of} of {one.pairs}"
    cost = "-" if one.took.cost is None else f"{one.took.cost:.4f}"
    return [safe(one.judge), asked, *map(_shown, shares), str(one.unanswered_calls), cost]


def _shown(share: RightShare) -> str:
    if share.low is None or share.high is None:
        return "-"
    return f"{percent(share.share)}\n[{100 * share.low:.0f}, {100 * share.high:.0f}]"
