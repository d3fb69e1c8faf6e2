"""Checks of the self-test that only the command can make: the commands themselves, as people type them."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.gates.sequential import ALPHA
from judgeharness_integrations.analysis.planning import Goal
from judgeharness_integrations.testing.selftest.check import Check, Floats, Point, PromiseCheck
from judgeharness_integrations.testing.selftest.looking import DELTA, planted_population
from judgeharness_integrations.testing.selftest.planning import pilot_rows, two_systems

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
    from judgeharness_integrations.cli.app import main  # noqa: PLC0415 - which knows the command that imports this

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


def _studies(study: Any) -> Any:
    def simulate(point: Point, studies: int, generator: np.random.Generator) -> Floats:
        def once() -> float:
            with _folder() as folder:
                return float(study(folder, point, generator))

        return np.array([once() for _ in range(studies)], dtype=np.float64)

    return simulate


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
