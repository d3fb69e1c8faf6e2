"""What `judgeharness run` does: the judges one after the other, every answer a row of one log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import typer

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.cli._asking import check_cost, confirm, judge_model, print_plans
from judgeharness_integrations.cli._failures import told, without_replay_advice
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._run_tables import print_summary
from judgeharness_integrations.cli._stopping import Terminated, terminable
from judgeharness_integrations.cli._summary import JudgeTally, summary_document
from judgeharness_integrations.cli._writing import check_folder
from judgeharness_integrations.cli.exits import INTERRUPTED, NOT_GRADED, OK, TERMINATED
from judgeharness_integrations.config import (
    Config,
    build_calibration,
    build_cases,
    build_harness_options,
    build_judge,
    load_config,
    without_secrets,
)
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.measure import QUOTED_ERROR
from judgeharness_integrations.plan import plan_cases
from judgeharness_integrations.verdictlog import JsonlLog, MemoryLog, VerdictRow
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["run_config"]

DEFAULT_OUT = "judgeharness-out"
VERDICTS, RESULTS, SUMMARY = "verdicts.jsonl", "results.jsonl", "summary.json"


class _Rows:
    """A log that keeps rows in memory as well, for the summary, and no secret of the configuration in an error."""

    def __init__(self, file: JsonlLog, settings: object) -> None:
        self.file, self.memory, self.settings = file, MemoryLog(), settings

    def append(self, rows: Iterable[VerdictRow]) -> None:
        rows = [
            row if row.error is None else replace(row, error=without_secrets(row.error, self.settings)) for row in rows
        ]
        self.file.append(rows)
        self.memory.append(rows)

    def rows(self, **where: object) -> Iterable[VerdictRow]:
        return self.memory.rows(**where)


@terminable()
def run_config(
    path: Path, *, out: Path | None, max_calls: int | None, yes: bool, overwrite: bool, as_json: bool
) -> int:
    """Run a configuration and return the exit code; 130 after SIGINT, 143 after SIGTERM, both with a summary."""
    config = load_config(path)
    limit = config.execution.max_calls if max_calls is None else max_calls
    folder = out or config.resolve(config.out or DEFAULT_OUT)
    check_folder(folder, (VERDICTS, RESULTS, SUMMARY), overwrite=overwrite)
    cases = build_cases(config)
    judges = [build_judge(config, place) for place in range(len(config.judges))]
    harness = JudgeHarness(
        **build_harness_options(config),
        **build_calibration(config),
        budget=Budget(max_calls=limit),
        run=os.urandom(6).hex(),
    )
    plans = {judge.name: harness.plan(judge, cases) for judge in judges}
    total = sum(plan.total for plan in plans.values())
    print_plans(plans, config, max_calls=limit, stderr=as_json)
    check_cost(total, limit)
    confirm(total, yes=yes)
    tallies = [
        JudgeTally(
            judge=judge, model=judge_model(judge, one), plan=plans[judge.name], planned=_planned(harness, judge, cases)
        )
        for judge, one in zip(judges, config.judges, strict=True)
    ]
    return _measured(config, harness, cases, tallies, folder, as_json=as_json)


def _planned(harness: JudgeHarness, judge: object, cases: Sequence[object]) -> dict[str, int]:
    plans = plan_cases(
        cases,
        judge,  # type: ignore[arg-type]
        perturbations=harness.perturbations,
        repetitions=harness.design.repetitions,
        rule=harness.design.rule,
        on_unfit=harness.on_unfit,
    )
    return {plan.case_id: plan.calls for plan in plans}


def _measured(
    config: Config,
    harness: JudgeHarness,
    cases: Sequence[object],
    tallies: Sequence[JudgeTally],
    folder: Path,
    *,
    as_json: bool,
) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name in (RESULTS, SUMMARY):
        (folder / name).unlink(missing_ok=True)
    stopped: BaseException | None = None
    with ExitStack() as stack:
        file = stack.enter_context(JsonlLog(folder / VERDICTS))
        results = stack.enter_context((folder / RESULTS).open("w", encoding="utf-8", errors=LONE_SURROGATES))
        harness.log = log = _Rows(file, config.model_dump())  # type: ignore[assignment]
        try:
            for tally in tallies:
                _ask(harness, tally, cases, results, config.model_dump())
        except (JudgeHarnessError, OSError, KeyboardInterrupt, Terminated) as error:
            stopped = error  # what was answered is summed up all the same
    rows = list(log.rows())
    document = summary_document(config, harness, tallies, rows, stopped=stopped)
    _tell(document, folder, as_json=as_json)
    return _ended(document, folder, len(rows), stopped)


def _tell(document: Mapping[str, Any], folder: Path, *, as_json: bool) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8", errors=LONE_SURROGATES)
    if as_json:
        print_json(document)
    else:
        print_summary(document, folder)


def _ask(harness: JudgeHarness, tally: JudgeTally, cases: Sequence[object], results: TextIO, settings: object) -> None:
    with without_replay_advice():
        for result in harness.evaluate_many(tally.judge, cases, tally.model):
            document = result.to_dict()
            errors = {row.error for row in result.rows if row.error}
            for measured in document["criteria"].values():
                measured["reason"] = _reason(measured["reason"], errors, settings)
            tally.add(result, document)
            results.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
            results.flush()


def _reason(reason: str, errors: Iterable[str], settings: object) -> str:
    """Return a reason in which no secret of the configuration occurs, not even where the error it quotes is cut."""
    for error in errors:
        reason = reason.replace(error[:QUOTED_ERROR], without_secrets(error, settings)[:QUOTED_ERROR])
    return without_secrets(reason, settings)


def _ended(document: Mapping[str, Any], folder: Path, rows: int, stopped: BaseException | None) -> int:
    """Say on standard error how the run ended and why samples failed, and return the exit code."""
    missing, state = document["not_graded_cases"], document["state"]
    if isinstance(stopped, OSError):
        raise stopped
    if state == "failed":
        raise UsageError(f"{document['error']} What was answered is kept: {rows} rows in {folder / VERDICTS}.")
    if state == "interrupted":
        how = "terminated" if isinstance(stopped, Terminated) else "interrupted"
        typer.echo(f"{how}: {rows} rows are in {folder / VERDICTS}.", err=True)
    elif missing:
        unasked = document["not_asked_cases"]
        what = f"{missing} of {document['judged_cases'] + unasked} cases ended not_graded"
        what += f", {unasked} of them never asked" if unasked else ""
        why = "max_calls was reached" if state == "budget_exhausted" else "too few valid answers"
        typer.echo(f"{what}: {why} (see {folder / SUMMARY}).", err=True)
    for judge in document["judges"]:
        for line in told(judge["judge"], judge["failures"]):
            typer.echo(line, err=True)
    if state == "interrupted":
        return TERMINATED if isinstance(stopped, Terminated) else INTERRUPTED
    return NOT_GRADED if missing else OK
