"""What `judgeharness compare` does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.comparison import ComparisonReport, compare
from judgeharness_integrations.analysis.runs import read_report
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._reading import without_garbage_collection
from judgeharness_integrations.cli._replay import rule_of
from judgeharness_integrations.cli._run_options import CompareRequest
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.reporting.comparison import comparison_section
from judgeharness_integrations.reporting.terminal import console, show_section

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.aggregation.rules import Rule
    from judgeharness_integrations.analysis.runs import RunReport


_STANDARD_OUTPUT: Final = Path("-")
_CHANGED: Final = frozenset({"worse", "better", "different", "flips more than noise"})


def compare_runs(request: CompareRequest) -> int:
    """Read both runs, compare them, print or write the report and return the exit code."""
    if request.as_json and request.markdown == _STANDARD_OUTPUT:
        raise UsageError("--json and --markdown - both print on standard output: write Markdown to a file.")
    scale = request.ends
    with without_garbage_collection():
        report = _compared(request, scale)
    if request.html is not None:
        _write(request.html, report.to_html(), "--html")
    if request.markdown is not None and request.markdown != _STANDARD_OUTPUT:
        _write(request.markdown, report.to_markdown(), "--markdown")
    if request.as_json:
        print_json(report.to_dict())
    elif request.markdown == _STANDARD_OUTPUT:
        sys.stdout.write(report.to_markdown())
    else:
        show_section(comparison_section(report), console(), every=request.every)
    return _exit_code(report, request.fail_on)


def _compared(request: CompareRequest, scale: tuple[float, float] | None) -> ComparisonReport:
    rule = None if request.rule is None else rule_of(request.rule)
    before = _read(request, 0, rule)
    twice = request.sources[0] == request.sources[1] and request.runs[0] == request.runs[1]
    return compare(
        before,
        before if twice else _read(request, 1, rule),
        judges=request.judges or None,
        criteria=request.criteria or None,
        judge_before=request.judges_paired[0],
        judge_after=request.judges_paired[1],
        measure=request.measure,
        detect=request.detect,
        alpha=request.alpha,
        seed=request.seed,
        permutations=request.permutations,
        sequential=request.sequential,
        scale=scale,
    )


def _read(request: CompareRequest, side: int, rule: Rule | None) -> RunReport:
    source, run = request.sources[side], request.runs[side]
    if source.is_dir() and run is not None:
        raise UsageError(f"{source} is the folder of one run: leave out --run-{'ab'[side]}.")
    try:
        return read_report(
            source, rule, run=run, labels=request.labels, min_valid=request.min_valid, tolerance=request.tolerance
        )
    except UsageError as error:
        if "choose one with --run." not in str(error):
            raise
        raise UsageError(str(error).replace("--run.", f"--run-{'ab'[side]}.")) from error


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror or error}): give another {option}.") from error


def _exit_code(report: ComparisonReport, fail_on: str | None) -> int:
    answers = {one.answer for one in report.criteria}
    failing = {"worse": {"worse"}, "changed": _CHANGED}.get(fail_on or "", set())
    return GATE_FAILED if answers & failing else OK
