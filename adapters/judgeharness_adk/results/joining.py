"""Measurements of sidecar files, joined with what ADK's own results know of their invocations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from judgeharness_adk.results.finding import files_below, project_of
from judgeharness_adk.results.histories import ENDING, Turn, read_history, turns_of
from judgeharness_adk.results.records import AdkResult
from judgeharness_adk.results.sidecars import read_sidecars
from judgeharness_adk.sidecar import SUFFIX
from judgeharness_integrations._errors import CaseError, ConfigError, UsageError
from judgeharness_integrations.aggregation.rules import RuleLike

__all__ = ["joined_results"]


def joined_results(
    path: Path, history: Path | None, rules: Mapping[str, RuleLike]
) -> tuple[tuple[AdkResult, ...], tuple[str, ...]]:
    """Return the measurements below a path, and what is to be known about the files; see `load_results`."""
    results, notes = read_sidecars(_found(path, SUFFIX), rules)
    if not results and notes:
        raise ConfigError(f"{path}: no measurement is left: {notes[0]}.")
    if not results:
        raise UsageError(
            f"{path}: no measurements (*{SUFFIX}) are here: give the folder in which `adk eval` ran with "
            "judgeharness_adk.register(), or the directory named by the `sidecar` of judge_harness. A metric that was "
            "not measured leaves none; the log of the evaluation says why."
        )
    turns, problems = _turns(project_of(path) if history is None else history)
    return tuple(_joined(one, turns) for one in results), (*notes, *problems)


def _found(path: Path, ending: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"there is no file or folder {path}.")
    return files_below(path, ending)


def _turns(history: Path) -> tuple[dict[str, Turn], list[str]]:
    """Return invocation id -> turn; a damaged file among several is noted, one that was asked for is an error."""
    read, problems = [], []
    for path in _found(history, ENDING):
        try:
            read.append(read_history(path))
        except CaseError as error:
            if path == history:
                raise
            problems.append(f"{str(error).rstrip('.')}, and was skipped")
    return dict(turns_of(read)), problems


def _joined(one: AdkResult, turns: dict[str, Turn]) -> AdkResult:
    turn = turns.get(one.invocation_id)
    return one if turn is None else replace(one, **vars(turn))
