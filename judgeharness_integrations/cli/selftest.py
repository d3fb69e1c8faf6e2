"""What `judgeharness selftest` does and shows, and the checks that only the command can make."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.gates.sequential import ALPHA
from judgeharness_integrations.analysis.planning import Goal
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Strong, Table
from judgeharness_integrations.reporting.terminal import console, show_section
from judgeharness_integrations.testing.selftest import SelftestReport, run_selftest
from judgeharness_integrations.testing.selftest import report as registry
from judgeharness_integrations.testing.selftest.check import (
    Check,
    Kind,
    Point,
    PointFound,
    PromiseCheck,
    Studies,
    one_by_one,
)
from judgeharness_integrations.testing.selftest.looking import DELTA, planted_population
from judgeharness_integrations.testing.selftest.report import CRITERIA, CheckFound
from judgeharness_integrations.testing.selftest.workflows import pilot_rows, two_systems
from judgeharness_integrations.verdictlog.encoding import counted, ends, percent

from ._command import GATE_FAILED, OK
from ._label_options import SelftestRequest
from ._output import print_json

_TITLES: dict[Kind, str] = {
    "coverage": "coverage of nominal 95 % intervals",
    "size": "rejections of true hypotheses at nominal 5 %",
    "power": "planted faults: how many reports name them",
    "false_alarms": "judges without a fault: how many reports fail them",
    "failures": "what failed samples cannot do",
    "promises": "whole workflows: what is promised, and what they deliver",
}
_RATES = ("check\nits worst point", "verdict", "points", "mean\n%", "worst\n%", "repli-\ncates")
_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "coverage": _RATES,
    "size": _RATES,
    "power": ("fault\nhow strong", "verdict", "named\n%", "others\n%", "reports"),
    "false_alarms": ("judge\nwhat it is like", "verdict", "failed\n%", "reports"),
    "failures": ("promise", "verdict", "rules\nand n", "tried", "broken\n%"),
    "promises": ("workflow: what happens\nplanted", "verdict", "promised\n%", "delivered\n% [95 %]", "stud-\nies"),
}


def selftest_section(report: SelftestReport) -> Section:
    """Return a self-test for people: how many checks miss, a table a kind of check, what deviates."""
    misses = sum(check.verdict in {"miss", "broken"} for check in report.checks)
    return Section(
        title=f"{counted(len(report.checks), 'check')}, {misses} of them miss", blocks=tuple(_blocks(report))
    )


def _blocks(report: SelftestReport) -> Iterator[Block]:
    yield f"self-test, {'full' if report.full else 'fast'} version: {_drawn(report)}, seed {report.seed}"
    for kind, title in _TITLES.items():
        checks = [check for check in report.checks if check.kind == kind]
        if checks:
            yield Table.of(title, _COLUMNS[kind], (row for check in checks for row in _rows(check)))
            yield f"ok: {CRITERIA[kind]}"
    if deviations := tuple(_deviations(report.checks)):
        yield Bullets(deviations)
    unclear, untold = (sum(check.verdict == said for check in report.checks) for said in ("unclear", "not told"))
    if unclear:
        yield f"{unclear} unclear: beyond what is ok by less than three standard errors"
    if untold:
        yield f"{untold} not told at this number of studies{'' if report.full else ': see --full'}"


def _rows(check: CheckFound) -> Iterator[tuple[str, ...]]:
    if check.kind in ("coverage", "size"):
        worst = check.worst
        numbers = (str(len(check.points)), percent(check.mean), percent(worst.rate), str(worst.replicates))
        yield f"{check.name}\n{worst}", check.verdict, *numbers
    elif check.kind == "failures":
        tried = sum(point.replicates for point in check.points)
        yield check.name, check.verdict, str(len(check.points)), str(tried), percent(check.worst.rate)
    elif check.kind == "promises":
        yield Strong(f"{check.name}: {check.promise}"), check.verdict, *[""] * 3
        yield from (_delivered(point, ">=" if check.at_least else "<=") for point in check.points)
    else:
        yield Strong(check.name), check.verdict, *[""] * (len(_COLUMNS[check.kind]) - 2)
        yield from (_point(point) for point in check.points)


def _point(point: PointFound) -> tuple[str, ...]:
    """Return a strength of a fault, or a judge without one, below the name of its check."""
    rates = [percent(point.rate)] if point.others is None else [percent(point.rate), percent(point.others)]
    return f"{point}{' *' if point.declared else ''}", "", *rates, str(point.replicates)


def _delivered(point: PointFound, word: str) -> tuple[str, ...]:
    """Return what the studies of a planted truth delivered, below the name of their workflow."""
    interval = "" if point.low is None else f" {ends((point.low, point.high), 1, scale=100)}"
    studies = str(point.replicates - point.undefined)
    return (
        str(point),
        point.verdict or "",
        f"{word} {percent(point.promised)}",
        f"{percent(point.rate)}{interval}",
        studies,
    )


_DRAWN: tuple[tuple[str, frozenset[Kind]], ...] = (
    ("replicates a point", frozenset({"coverage", "size"})),
    ("reports on a judge", frozenset({"power", "false_alarms"})),
    ("studies of a workflow", frozenset({"promises"})),
)


def show_selftest(request: SelftestRequest) -> int:
    """Run the self-test, print what it found and return the exit code."""
    _check_names(request.only)
    report = run_selftest(_checks(), full=request.full, only=request.only, seed=request.seed, progress=_progress())
    if request.as_json:
        print_json(report.to_dict())
    else:
        show_section(selftest_section(report), console())
    return OK if report.passed else GATE_FAILED


def _checks() -> tuple[Check, ...]:
    """Return all checks there are; those of the commands can be made where the commands are."""
    return (*registry.CHECKS, *COMMANDS)


def _check_names(only: Sequence[str]) -> None:
    """Refuse a part of no name, after the names: so many in a sentence could not be read."""
    names = [check.name for check in _checks()]
    for part in only:
        if not any(part.casefold() in name.casefold() for name in names):
            typer.echo("\n".join(names), err=True)
            raise UsageError(f"unknown check {part!r}: give a part of a name above.")


def _progress() -> Callable[[str], None] | None:
    """Return what shows one line that is written over, None where nobody watches."""
    if not sys.stderr.isatty():
        return None

    def show(line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line[:100]}\r")
        sys.stderr.flush()

    return show


def _drawn(report: SelftestReport) -> str:
    """Return how many draws stand behind a number: `4000 replicates a point, 1000 reports on a judge`."""
    parts: list[str] = []
    for what, kinds in _DRAWN:
        checks = [check for check in report.checks if check.kind in kinds]
        most = max((one.replicates for check in checks for one in check.points), default=0)
        if most:
            parts.append(f"{'' if report.full else 'at most '}{most} {what}")
    return ", ".join(parts) or "every sequence"


def _deviations(checks: Sequence[CheckFound]) -> Iterator[str]:
    for check in checks:
        undefined = sum(point.undefined for point in check.points)
        parts = [part for part in (check.reason, check.note) if part]
        if undefined:
            tried = sum(point.replicates for point in check.points)
            what = "studies promised nothing" if check.kind == "promises" else "replicates gave none"
            parts.append(f"{undefined} of {tried} {what}")
        if parts:
            yield f"{check.name}: {'; '.join(parts)}"


_MODULE: Final = "judgeharness_selftest_judge"
_JUDGE: Final = """import zlib

def judge(case):
    return "PASS" if zlib.crc32(case.case_id.encode()) % 1000 < {passes} else "FAIL"
"""
_CASES: Final = ("case_id", "input", "output", "gold")
_SUMMARY: Final = "GITHUB_STEP_SUMMARY"  # a run adds to the file it names
_ENDED: Final = (0, 1)


def typed(*arguments: str | Path) -> tuple[int, str]:
    """Run a command of ours in this process, and return its exit code and what it printed.

    Raises:
        UsageError: it could not do what it was asked for.

    """
    from .app import main  # noqa: PLC0415 - which knows the command that imports this

    printed, complained = io.StringIO(), io.StringIO()
    summary = os.environ.pop(_SUMMARY, None)
    try:
        with redirect_stdout(printed), redirect_stderr(complained):
            code = main([str(one) for one in arguments])
    finally:
        if summary is not None:
            os.environ[_SUMMARY] = summary
    if code not in _ENDED:
        last = (complained.getvalue().strip() or "nothing was said").splitlines()[-1]
        raise UsageError(f"the self-test asked for `judgeharness {arguments[0]}`, which ended with {code}: {last}")
    return code, printed.getvalue()


def _document(*arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(typed(*arguments, "--json")[1])
    return found


def _table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder that is gone afterwards, with the judge that was imported from it."""
    path = list(sys.path)
    try:
        with TemporaryDirectory(prefix="judgeharness-selftest-") as name:
            yield Path(name)
    finally:
        sys.path[:] = path
        sys.modules.pop(_MODULE, None)


def _label(positive: object) -> str:
    return "PASS" if positive else "FAIL"


def _case(name: str, gold: str) -> tuple[str, ...]:
    return name, f"question {name}", "answer", gold


def _compared(folder: Path, point: Point, generator: np.random.Generator) -> float:
    """`plan --pilot`, a run of each of two systems, `compare`: whether it finds the difference."""
    rate, goal = point["rate"], Goal(kind="difference", value=point["difference"])
    columns = ("case_id", "perturbation", "repetition", "verdict")
    rows = pilot_rows(generator, rate, int(point["pilot"]))
    pilot = _table(folder / "pilot.csv", columns, ([getattr(row, name) for name in columns] for row in rows))
    wanted = ("--difference", f"{goal.value:g}", "--perturbations", "1")
    plan = _document("plan", "--pilot", pilot, *wanted)
    [cases] = [one["cases"] for one in plan["designs"] if (one["perturbations"], one["repetitions"]) == (1, 1)]
    if cases is None:
        return np.nan
    systems = two_systems(generator, goal, rate, (1, 1), (cases,))
    logs = [
        _table(folder / f"{name}.csv", ("case_id", "verdict"), ((f"c{n}", _label(one)) for n, one in enumerate(said)))
        for name, said in zip(("before", "after"), systems, strict=True)
    ]
    [found] = _document("compare", *logs, "--rule", "majority")["criteria"]
    return float(found["answer"] in {"better", "worse"})


def _anchored(folder: Path, point: Point, generator: np.random.Generator) -> float:
    """`calibrate`, `run --require-calibration`: whether a judge that reads nothing passes."""
    golds = generator.random(int(point["labels"])) < point["rate"]
    start = int(generator.integers(10**9))
    cases = _table(folder / "cases.csv", _CASES, (_case(f"{start}-{n}", _label(one)) for n, one in enumerate(golds)))
    (folder / f"{_MODULE}.py").write_text(_JUDGE.format(passes=round(1000 * point["passes"])), encoding="utf-8")
    config: dict[str, Any] = {
        "judges": [{"name": "judge", "callable": f"{_MODULE}:judge"}],
        "cases": cases.name,
        "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"},
    }
    path, saved = folder / "run.json", folder / "calibration.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    typed("calibrate", path, "--labels", cases, "--source", "human", "--out", saved, "--yes")
    path.write_text(json.dumps(config | {"calibration": saved.name}), encoding="utf-8")
    code, _ = typed("run", path, "--out", folder / "out", "--yes", "--require-calibration")
    return float(code == 0)


def _certified(folder: Path, point: Point, generator: np.random.Generator) -> float:
    """`certify` on a log of which a part is labelled: whether decisions at its threshold are wrong too often."""
    votes, labels = int(point["votes"]), int(point["labels"])
    population = planted_population(votes, point["error"])
    rows = []
    for n, place in enumerate(generator.integers(0, len(population.scores), int(point["cases"])).tolist()):
        decision = bool(generator.integers(2))
        agreeing = round(float(population.scores[place]) * votes)
        gold = _label(decision != population.wrong[place]) if n < labels else ""
        rows += [(f"c{n}", vote, _label(decision == (vote < agreeing)), gold) for vote in range(votes)]
    log = _table(folder / "votes.csv", ("case_id", "repetition", "verdict", "gold"), rows)
    wanted = ("--agreement", f"{point['agreement']:g}", "--delta", f"{DELTA:g}")
    [found] = _document("certify", log, "--rule", "majority", "--source", "human", *wanted)["selections"]
    return float(
        found["threshold"] is not None and population.violated(found["threshold"], agreement=point["agreement"])
    )


def _studies(study: Callable[[Path, Point, np.random.Generator], float]) -> Studies:
    @one_by_one
    def in_folder(point: Point, generator: np.random.Generator) -> float:
        with _folder() as folder:
            return study(folder, point, generator)

    return in_folder


COMMANDS: tuple[Check, ...] = (
    PromiseCheck(
        name="commands: plan, compare",
        promise="the difference between two systems is found",
        share=0.8,
        at_least=True,
        points=({"rate": 0.31, "pilot": 37, "difference": 0.17},),
        simulate=_studies(_compared),
        fast=1,
        fast_replicates=14,
    ),
    PromiseCheck(
        name="commands: calibrate, run --require-calibration",
        promise="a judge that reads nothing passes",
        share=ALPHA / 2,
        at_least=False,
        points=({"rate": 0.93, "passes": 0.9, "labels": 90},),
        simulate=_studies(_anchored),
        fast=1,
        fast_replicates=4,
    ),
    PromiseCheck(
        name="commands: certify",
        promise="decisions above the certified threshold agree with people less often than certified",
        share=DELTA,
        at_least=False,
        points=({"votes": 5, "error": 0.11, "labels": 110, "agreement": 0.9, "cases": 160},),
        simulate=_studies(_certified),
        fast=1,
        fast_replicates=12,
    ),
)
