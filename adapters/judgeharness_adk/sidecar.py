"""Whole measurements beside ADK's own results: one JSON line an invocation and metric, one file a process."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["SCHEMA", "SUFFIX", "Sidecar", "write"]

SCHEMA = "judgeharness.adk/1"
SUFFIX = ".judgeharness.jsonl"
_LOGGER = logging.getLogger("judgeharness_adk")
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_encoded = json.JSONEncoder(ensure_ascii=False, default=str).encode
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
        about = self._redact.data({"invocation_id": invocation_id, "rubrics": dict(rubrics)})
        told = self._redact.data({**facts, "result": document})
        told = {**told, "result": {**told["result"], "rows": rows}}
        write({**self._metric, **about, **self._parts, **told}, self._directory)


def write(line: Mapping[str, Any], directory: Path) -> None:
    """Append a line to this process's file in a directory; one that cannot be written to is a warning, not an error."""
    data = f"{_encoded(line)}\n".encode(errors=LONE_SURROGATES)
    try:
        with _lock:
            _append(data, directory)
    except OSError as error:
        _LOGGER.warning("the measurement is not kept: %s cannot be written to (%s).", directory, error.strerror)


def _append(data: bytes, directory: Path) -> None:
    """Append to the file of this process, which is another one where its directory was taken away."""
    key = (directory.absolute(), os.getpid())
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
