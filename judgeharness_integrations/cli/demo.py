"""What recorded verdicts show: rules on five judges, and a survey of all.

The verdicts are of five judges on the 419 pairs of LLMBar, each pair shown in both orders (Zeng et al. 2024, Evaluating
Large Language Models at Evaluating Instruction Following, MIT License); see `demonstration/README.md` beside the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.replay import JudgeReplay, replay
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.cases import PairwiseCase
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.reporting.terminal import console, table
from judgeharness_integrations.testing import RecordedJudge
from judgeharness_integrations.verdictlog import MemoryLog, VerdictRow, read_log
from judgeharness_integrations.verdictlog.encoding import percent

from ._command import command

SOURCE = "LLMBar (Zeng et al. 2024, MIT License)"
JUDGES = ("GPT-4/Swap", "PaLM2/Vanilla", "Falcon/CoT", "ChatGPT/CoT", "LLaMA2/Vanilla_NoRules")
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


def recorded_verdicts() -> list[VerdictRow]:
    """Return the verdicts that come with the package: 58 judges of LLMBar."""
    with as_file(files("judgeharness_integrations.cli") / "demonstration" / "llmbar.csv.gz") as path:
        return read_log(path)


def run_demo() -> Demo:
    """Ask the recorded judges through the harness, in both orders, and fold their answers with every rule."""
    recorded = [row for row in recorded_verdicts() if row.judge in JUDGES]
    names = list(JUDGES)
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
    """Show on real, recorded verdicts how much one judge call hides. No key, no network, no calls."""

    every: Annotated[
        bool, typer.Option("--all", help="Add what each rule makes of the verdicts, and one pair in full.")
    ] = False


_HALF = 0.5
_NEXT: Final = "next: judgeharness init    (more: judgeharness demo --all; 58 judges: judgeharness survey)"


def show_demo(request: DemoRequest) -> None:
    """Run the demo and print it."""
    demo, screen = run_demo(), console()
    screen.print(_finding(demo.judges), style="bold")
    screen.print(
        f"Recorded by {SOURCE}: {demo.calls} answers of {len(demo.judges)} judges, each pair in both orders. "
        "No model is called."
    )
    screen.print(table("one call against both orders, %", _COLUMNS, map(_row, demo.judges)))
    screen.print()
    screen.print(_lesson(demo.judges))
    if request.every:
        _show_rest(demo, screen)
    screen.print()
    screen.print(_NEXT)


def _finding(judges: Sequence[JudgeShown]) -> str:
    """Return the finding: how often the order alone changes the verdict of the steadiest judge, and of the least."""
    by_flips = sorted(judges, key=lambda judge: judge.flips)
    least, most = by_flips[0], by_flips[-1]
    return (
        f"{_model_name(least)} changes its verdict in {_rounded(least)} % of {least.pairs} pairs when the answers "
        f"change places, {_model_name(most)} in {_rounded(most)} %."
    )


def _model_name(judge: JudgeShown) -> str:
    return judge.judge.split("/", maxsplit=1)[0]


def _rounded(judge: JudgeShown) -> str:
    """Return the share of pairs that flip, in per cent with two digits."""
    return f"{100 * judge.flips / judge.pairs:.2g}"


_COLUMNS: Final = (
    "judge",
    "one call\nright",
    "flips with\nthe order",
    "first slot\nwins",
    "both orders\nagree",
    "right where\nthey agree",
)


def _row(judge: JudgeShown) -> list[str | Text]:
    agreeing = judge.rules[_RULE]
    shares = (
        judge.single_call,
        judge.flips / judge.pairs,
        agreeing.first_slot_rate,
        agreeing.coverage,
        agreeing.accuracy,
    )
    return [judge.judge, *map(percent, shares)]


def _lesson(judges: Sequence[JudgeShown]) -> str:
    better = [_model_name(judge) for judge in judges if judge.gain > 0]
    worse = [_model_name(judge) for judge in judges if judge.gain <= 0]
    above = {_model_name(judge) for judge in judges if judge.single_call > _HALF}
    exactly = ", exactly those above 50 %" if set(better) == above else ""
    return (
        "Abstaining where the two orders disagree makes the decided pairs more often right for "
        f"{', '.join(better)}{exactly}, and less often for {', '.join(worse)}: a judge that is wrong more often than "
        "right agrees with itself on its errors. Consistency is not correctness: only labels show which judge you have."
    )


def _show_rest(demo: Demo, screen: Console) -> None:
    screen.print(_rules_table(demo.judges))
    screen.print()
    screen.print(
        "With one call per order, majority, strict_majority, abstain_on_disagreement and swap_consensus differ only "
        "where a call failed. net_preference decides every pair that was answered and calls a flip a TIE, which no "
        "gold label here is. So quote no accuracy without its rule and coverage."
    )
    screen.print()
    screen.print(Text(f"One of {demo.judges[0].judge}'s pairs, whose verdict changed with the order:", style="bold"))
    screen.print()
    screen.print(Text(demo.example.report().rstrip()))


def _rules_table(judges: Sequence[JudgeShown]) -> Table:
    columns = ("rule", *(judge.judge.replace("/", "\n").replace("_", "_\n") for judge in judges))
    rows: list[list[str | Text]] = [[rule, *(_cell(judge, rule) for judge in judges)] for rule in RULES]
    return table("each rule: right of the decided pairs, and share decided, %", columns, rows, whole=True)


def _cell(judge: JudgeShown, rule: str) -> str:
    entry = judge.rules[rule]
    return f"{percent(entry.accuracy)} {100 * (entry.coverage or 0.0):3.0f}%"


demo = command(DemoRequest, show_demo)


_SURVEYED: Final = (
    "58 judges of six models on the 419 pairs of LLMBar, each in both orders (Zeng et al. 2024, MIT License)"
)


@dataclass(frozen=True, kw_only=True)
class SurveyRequest:
    """Say what recorded verdicts show about LLM judges: how many turn with the order, and what that does.

    Nothing is asked. Without a log it is about the judges recorded by LLMBar, which come with the package.
    """

    log: Annotated[
        str | None,
        typer.Argument(
            metavar="[LOG]",
            help="A verdict log of several judges with gold, each pair in both orders: .sqlite, .parquet, .csv or "
            ".jsonl (.gz), or the folder of a run.",
        ),
    ] = None
    html: Annotated[Path | None, typer.Option(help="Write one HTML page there.")] = None
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown there.")] = None
    labels: Annotated[int, typer.Option(min=1, help="Labels a certificate is drawn from.")] = 150
    separator: Annotated[
        str, typer.Option(help="What divides a judge's name into model and prompt.", show_default="@")
    ] = "@"
    seed: Annotated[int, typer.Option(help="Of the draws of labels.")] = 0
    every: Annotated[bool, typer.Option("--all", help="List every judge.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.survey/1).")] = False


def survey_log(request: SurveyRequest) -> None:
    """Read the log, write what is asked for and print the survey."""
    from judgeharness_integrations.analysis.ranking.survey import survey  # noqa: PLC0415 - loads SciPy
    from judgeharness_integrations.reporting.sections import section_markdown  # noqa: PLC0415
    from judgeharness_integrations.reporting.survey import survey_page, survey_section  # noqa: PLC0415
    from judgeharness_integrations.reporting.terminal import show_section  # noqa: PLC0415

    from ._output import print_json, rows_of_log, without_garbage_collection, write_file  # noqa: PLC0415  # noqa: PLC0415

    if not request.separator:
        raise UsageError("--separator is empty: give what stands between model and prompt, as @ or /.")
    with without_garbage_collection():
        if request.log is None:
            rows, separator, source = recorded_verdicts(), "/", _SURVEYED
        else:
            rows, separator, source = rows_of_log(Path(request.log)), request.separator, request.log
        found = survey(rows, labels=request.labels, separator=separator, seed=request.seed)
    if request.html is not None:
        write_file(request.html, survey_page(found, source=source), "--html")
    if request.markdown is not None:
        write_file(request.markdown, section_markdown(survey_section(found), every=request.every), "--markdown")
    if request.as_json:
        print_json(found.to_dict())
    else:
        show_section(survey_section(found), console(), every=request.every)


survey = command(SurveyRequest, survey_log)
