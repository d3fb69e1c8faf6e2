"""Measurements of sidecar files and of rationales, joined with what ADK's own results know of their invocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from google.adk.evaluation.eval_result import EvalSetResult

from judgeharness_adk.results.finding import files_below, project_of
from judgeharness_adk.results.histories import ENDING, Turn, read_history, turns_of
from judgeharness_adk.results.machinelines import told_results
from judgeharness_adk.results.records import AdkResult
from judgeharness_adk.results.sidecars import read_sidecars
from judgeharness_adk.sidecar import SUFFIX
from judgeharness_integrations._errors import CaseError, ConfigError, UsageError
from judgeharness_integrations.aggregation.rules import RuleLike
from judgeharness_integrations.reporting.boundary import COUNTS_ALONE

__all__ = ["joined_results"]


def joined_results(
    path: Path, history: Path | None, rules: Mapping[str, RuleLike]
) -> tuple[tuple[AdkResult, ...], tuple[str, ...]]:
    """Return the measurements below a path, and what is to be known about the files; see `load_results`."""
    one_of_adk = path.is_file() and path.name.endswith(ENDING)
    results, notes = ([], []) if one_of_adk else read_sidecars(_found(path, SUFFIX), rules)
    where = history or (path if one_of_adk else project_of(path))
    histories, problems = _histories(where)
    turns = turns_of(histories)
    joined = [_joined(one, turns) for one in results]
    if one_of_adk or path.is_dir():  # one sidecar is what was asked for
        told, more = _told(histories, results, rules)
        results, joined, problems = [*results, *told], [*joined, *told], [*problems, *more]
    if not results and notes:
        raise ConfigError(f"{path}: no measurement is left: {notes[0]}.")
    if not results:
        raise UsageError(
            f"{path}: no measurements (*{SUFFIX}, or *{ENDING} with their lines) are here: give the folder in which "
            "`adk eval` ran with judgeharness_adk.register(), or the directory named by the `sidecar` of judge_harness."
            " A metric that was not measured leaves none; the log of the evaluation says why."
        )
    return tuple(joined), (*notes, *problems)


def _told(
    histories: Sequence[EvalSetResult], results: Sequence[AdkResult], rules: Mapping[str, RuleLike]
) -> tuple[list[AdkResult], list[str]]:
    """Return the measurements that no sidecar holds, and what is to be known about them."""
    told, disbelieved = told_results(histories, {(one.metric, one.invocation_id) for one in results}, rules)
    notes = [f"{len(told)} measurements are in no sidecar and {COUNTS_ALONE}"] if told else []
    if disbelieved:
        notes.append(
            f"{disbelieved} rationales hold a line that looks like ours, and were skipped: the rest of ADK's "
            "result does not bear it out"
        )
    return told, notes


def _found(path: Path, ending: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"there is no file or folder {path}.")
    return files_below(path, ending)


def _histories(history: Path) -> tuple[list[EvalSetResult], list[str]]:
    """Return ADK's results; a damaged file among several is noted, one that was asked for is an error."""
    read, problems = [], []
    for path in _found(history, ENDING):
        try:
            read.append(read_history(path))
        except CaseError as error:
            if path == history:
                raise
            problems.append(f"{str(error).rstrip('.')}, and was skipped")
    return read, problems


def _joined(one: AdkResult, turns: Mapping[str, Turn]) -> AdkResult:
    turn = turns.get(one.invocation_id)
    return one if turn is None else replace(one, **vars(turn))
