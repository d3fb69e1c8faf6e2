"""Every measurement of a process, whoever made it: for the report of a suite whose evaluators were migrated in place.

`JUDGEHARNESS_RECORD=verdicts/today.jsonl` in the environment records all results of a process and of those it starts;
`recording(listener)` those of a block. What labelled cases are judged for a calibration is not among them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.cases import AnswerCase, Case
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["RECORD", "Listener", "case_texts", "record", "recording", "to_file"]

RECORD: Final = "JUDGEHARNESS_RECORD"
_TEXTS = ("input", "output", "output_b", "reference", "context")

# what is told of a result: the measurement, and the texts that were judged, field by field
Listener: TypeAlias = Callable[[HarnessResult, Mapping[str, str]], None]


def to_file(path: Path) -> Listener:
    """Return a listener that appends every result to a file, a line each, also when several processes do.

    The file is one `judgeharness report` reads. It is made with the first result; where it cannot be written, a
    ConfigError says so there.
    """

    def append(result: HarnessResult, texts: Mapping[str, str]) -> None:
        from filelock import FileLock  # noqa: PLC0415 - loaded at first use

        from judgeharness_integrations.reporting.runs.recorded import recorded_line  # noqa: PLC0415

        line = json.dumps(recorded_line(result, texts), ensure_ascii=False, allow_nan=False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{path}.lock"), path.open("a", encoding="utf-8", errors=LONE_SURROGATES) as file:
                file.write(line + "\n")
        except OSError as error:
            raise ConfigError(
                f"results cannot be recorded in {path} ({error.strerror or error}): give {RECORD} another file."
            ) from error

    return append


def _from_environment() -> list[Listener]:
    path = os.environ.get(RECORD)
    return [to_file(Path(path).expanduser())] if path else []


_listeners: Final[list[Listener]] = _from_environment()


@contextmanager
def recording(listener: Listener) -> Iterator[None]:
    """Tell a listener every result that is measured inside the block, in any thread."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def record(result: HarnessResult, case: Case, *, with_texts: bool) -> None:
    """Tell whoever listens about a measurement; `with_texts` says whether what was judged may be kept."""
    if _listeners:
        texts = case_texts(case) if with_texts else {}
        for listener in tuple(_listeners):
            listener(result, texts)


def case_texts(case: Case) -> dict[str, str]:
    """Return what of a case people read, field by field."""
    if isinstance(case, AnswerCase):
        return {name: text for name in _TEXTS if (text := getattr(case, name, None)) is not None}
    return {"case": case if isinstance(case, str) else repr(case)}
