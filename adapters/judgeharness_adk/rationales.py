"""The measurement of one rubric as the text ADK carries: a line for people, a short one for programs, the reasons."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.reporting.text import dissent, rationale, shown_order
from judgeharness_integrations.reporting.text import headline as headline_of
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.plain import safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

VERSION = 2  # of the line for programs
_dense = json.JSONEncoder(separators=(",", ":")).encode
_LISTED = 10  # invocations whose lines an overall row repeats
_LONGEST_REASON = 1_500  # characters; the sidecar has it whole


def rubric_rationale(result: HarnessResult, criterion: str, line: str) -> str:
    """Return the text of a `RubricScore.rationale`: its second line is for programs, and a judge's words come after it.

    Args:
        result: the measurement of the invocation.
        criterion: the rubric.
        line: its `headline`.

    """
    return "\n".join(
        [
            line,
            machine_line(_facts(result, result.criteria[criterion])),
            *_reasons(result, criterion),
        ]
    )


def machine_line(facts: Mapping[str, Any]) -> str:
    """Return the line for programs."""
    return _dense(facts)


def counted(words: Iterable[str]) -> str:
    """Return decisions with how often they were made: `2 PASS, 1 ABSTAIN`."""
    return ", ".join(f"{count} {word}" for word, count in Counter(words).items())


def overall_rationale(group: Sequence[tuple[str, str]]) -> str:
    """Return what the overall row of a rubric says of its invocations, each a decision and the line for people.

    It is the only invocation's line, or the count of decisions and a line an invocation; its row has the rest.
    """
    if len(group) == 1:
        return group[0][1]
    lines = [f"{place}. {line}" for place, (_, line) in enumerate(group[:_LISTED], start=1)]
    more = [f"… and {len(group) - _LISTED} more"] if len(group) > _LISTED else []
    return "\n".join([f"{len(group)} invocations: {counted(word for word, _ in group)}", *lines, *more])


def headline(result: HarnessResult, criterion: str, *, standing: bool = True) -> str:
    """Return one line: samples, rule, consistency, calibration; first of all `ABSTAIN` or `NOT GRADED`.

    A rubric is `standing` that belongs to the metric's criterion; a calibration says nothing about others.
    """
    verdict = result.criteria[criterion].verdict
    odd = None if verdict in ("PASS", "FAIL") else f"decided {verdict_text(verdict)}, which is neither PASS nor FAIL"
    anchor = None if standing else "uncalibrated: a rubric of this invocation alone"
    return headline_of(result, criterion, decided=odd, anchor=anchor)


def _facts(result: HarnessResult, measured: CriterionResult) -> dict[str, Any]:
    """Return what a program may want of the measurement without the sidecar; what is empty is left out."""
    independence = measured.independence.status
    counted = {
        "samples": {verdict_text(verdict): count for verdict, count in measured.sample_distribution.items()},
        "failed": {name: count for name, count in measured.outcomes.items() if name != "ok" and count},
        "rule": None if result.informal else result.aggregation_rule,
        "independent": None if independence == "independent" else independence,
        "flips": {name: rate for name, rate in measured.flip_rates.items() if rate},
        "skipped": list(result.skipped),
        "model": result.judge_model,
        "fingerprint": result.fingerprint,
    }
    told = {name: value for name, value in counted.items() if value}
    return {"judgeharness": VERSION, "verdict": measured.verdict, "planned": measured.planned, **told}


def _reasons(result: HarnessResult, criterion: str) -> Iterator[str]:
    for word, row in (("reason", rationale(result, criterion)), ("dissent", dissent(result, criterion))):
        if row is not None and (text := safe_text(row.reasoning or "", _LONGEST_REASON)):
            yield f"{word} ({verdict_text(row.verdict)}{shown_order(row)}): {text}"
    failed = [row for row in result.rows if row.criterion == criterion and not row.ok]
    for (outcome, text), count in Counter((row.outcome, _why(row)) for row in failed).most_common(1):
        if text:
            yield f"failed ({count} {outcome}): {text}"


def _why(row: VerdictRow) -> str:
    said = row.error or row.reasoning or ""
    return "" if said.startswith("sha256:") else safe_text(said, _LONGEST_REASON)  # kept as a hash


SCHEMA = "judgeharness.adk/1"
SUFFIX = ".judgeharness.jsonl"
_LOGGER = logging.getLogger("judgeharness_adk")
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_encoded = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":")).encode
_lock = threading.Lock()
_files: dict[tuple[Path, int], Path] = {}  # (directory, process) -> the file of this process


class Sidecar:
    """What is kept of the measurements of one metric and eval case: a line each, on disk as soon as it is told."""

    def __init__(
        self, directory: Path, *, metric: str, standing: tuple[str, ...], parts: Mapping[str, Any] | None
    ) -> None:
        """Prepare what every line says; nothing is written.

        Args:
            directory: where the file of this process stands.
            metric: ADK's name of the metric.
            standing: the ids of the rubrics that belong to the metric's criterion.
            parts: what the fingerprint covers.

        """
        self._directory, self._redact = directory.absolute(), redactor()
        self._metric = self._redact.data({"schema": SCHEMA, "metric": metric})
        self._parts = self._redact.data(
            {"standing": list(standing), "parts": None if parts is None else dict(parts)},
        )
        self._harmless: dict[str, Any] = {}  # what the latest line said without a secret, key by key

    def keep(self, result: HarnessResult, *, invocation_id: str, rubrics: Mapping[str, str], **facts: Any) -> None:
        """Write the line of one measurement, without secrets; its rows were made without them.

        Args:
            result: the measurement; its criteria are the rubrics.
            invocation_id: ADK's id of the invocation, by which its results are joined.
            rubrics: rubric id -> text.
            facts: further keys, such as the step of an invocation.

        """
        document = result.to_dict(rows=True)
        rows = document.pop("rows")
        about = self._clean({"invocation_id": invocation_id, "rubrics": dict(rubrics)})
        told = {**self._clean(facts), "result": {**self._clean(document), "rows": rows}}
        write({**self._metric, **about, **self._parts, **told}, self._directory)

    def _clean(self, said: dict[str, Any]) -> dict[str, Any]:
        """Return what a line says without secrets; most of it was looked through in the line before."""
        for name, value in said.items():
            if self._harmless.get(name) != value:
                said[name] = clean = self._redact.data(value)
                self._harmless[name] = value if clean is value else None
        return said


def write(line: Mapping[str, Any], directory: Path) -> None:
    """Append a line to this process's file in a directory; one that cannot be written to is a warning, not an error."""
    try:
        data = to_json(line, fallback=str) + b"\n"  # in a quarter of the time that json takes
    except PydanticSerializationError:  # half an emoji: a model's answer was cut off there
        data = f"{_encoded(line)}\n".encode(errors=LONE_SURROGATES)
    try:
        with _lock:
            _append(data, directory)
    except OSError as error:
        _LOGGER.warning("the measurement is not kept: %s cannot be written to (%s).", directory, error.strerror)


def _append(data: bytes, directory: Path) -> None:
    """Append to the file of this process, which is another one where its directory was taken away."""
    key = (directory, os.getpid())
    try:
        file = owner_only(_files[key], _APPENDING) if key in _files else owner_only(_new_file(key), _APPENDING)
    except FileNotFoundError:
        file = owner_only(_new_file(key), _APPENDING)
    try:
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def _new_file(key: tuple[Path, int]) -> Path:
    """Name the file of a process in a directory, which is made where there is none."""
    directory, process = key
    directory.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    _files[key] = directory / f"{stamp}-{process}-{os.urandom(3).hex()}{SUFFIX}"
    return _files[key]


def _forget() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when the process was forked
    _lock = threading.Lock()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
