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

from judgeharness_integrations._files import owner_only
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["SCHEMA", "SUFFIX", "record", "write"]

SCHEMA = "judgeharness.adk/1"
SUFFIX = ".judgeharness.jsonl"
_LOGGER = logging.getLogger("judgeharness_adk")
_lock = threading.Lock()
_files: dict[tuple[Path, int], Path] = {}  # (directory, process) -> the file of this process


def record(
    result: HarnessResult,
    *,
    metric: str,
    invocation_id: str,
    rubrics: Mapping[str, str],
    standing: tuple[str, ...],
    parts: Mapping[str, Any] | None,
    **facts: Any,
) -> dict[str, Any]:
    """Return the line of one measurement.

    Args:
        result: the measurement; its criteria are the rubrics.
        metric: ADK's name of the metric.
        invocation_id: ADK's id of the invocation, by which its results are joined.
        rubrics: rubric id -> text.
        standing: the ids of the rubrics that belong to the metric's criterion.
        parts: what the fingerprint covers.
        facts: further keys, such as the step of an invocation.

    """
    return {
        "schema": SCHEMA,
        "metric": metric,
        "invocation_id": invocation_id,
        "rubrics": dict(rubrics),
        "standing": list(standing),
        "parts": None if parts is None else dict(parts),
        **facts,
        "result": result.to_dict(rows=True),
    }


def write(line: Mapping[str, Any], directory: Path) -> None:
    """Append a line to this process's file in a directory; one that cannot be written to is a warning, not an error."""
    text = json.dumps(_redacted(line), ensure_ascii=False, default=str) + "\n"
    try:
        with _lock, open(_path(directory), "a", encoding="utf-8", errors=LONE_SURROGATES, opener=owner_only) as file:
            file.write(text)
    except OSError as error:
        _LOGGER.warning("the measurement is not kept: %s cannot be written to (%s).", directory, error.strerror)


def _redacted(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line without secrets; its rows were made without them."""
    result = line.get("result", {})
    rows = {"rows": result["rows"]} if "rows" in result else {}
    clean: dict[str, Any] = redactor().data({**line, "result": {**result, "rows": []}} if rows else dict(line))
    return {**clean, "result": {**clean["result"], **rows}} if rows else clean


def _path(directory: Path) -> Path:
    key = (directory.absolute(), os.getpid())
    if key not in _files or not _files[key].parent.exists():
        directory.mkdir(parents=True, exist_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        _files[key] = key[0] / f"{stamp}-{key[1]}-{os.urandom(3).hex()}{SUFFIX}"
    return _files[key]


def _forget() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when the process was forked
    _lock = threading.Lock()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)
