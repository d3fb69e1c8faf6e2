"""A run's folder: the names of its files, and where its log is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.redacting import REDACTED

__all__ = ["EXPORTS", "LOG", "MARK", "RESULTS", "SUMMARY", "VERDICTS", "log_of", "read_mark"]

LOG: Final = "verdicts.sqlite"
MARK: Final = "run.json"
VERDICTS, RESULTS, SUMMARY = EXPORTS = ("verdicts.jsonl", "results.jsonl", "summary.json")


def log_of(folder: Path) -> str | Path:
    """Return the log of the run that stands in a folder.

    Raises:
        UsageError: its URL holds a password, which is not written down.

    """
    marked = str(read_mark(folder / MARK).get("log", LOG)) if (folder / MARK).exists() else LOG
    if REDACTED in marked:
        raise UsageError(f"the log of {folder} is {marked}: give its URL, whose password is not kept here.")
    return marked if "://" in marked else folder / marked


def read_mark(file: Path) -> Mapping[str, Any]:
    """Return what a run's mark says.

    Raises:
        ConfigError: it cannot be read.

    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): delete it, or give another --out.") from error
    return found if isinstance(found, dict) else {}
