"""What commands write: JSON on standard output, files known to be writable before anything is asked, job summaries."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import typer

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.plain import safe_text


def print_json(document: Any) -> None:
    """Print a document on standard output, nothing else."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def check_file(path: Path, *, option: str = "--out") -> None:
    """Raise a ConfigError unless a file can be written there; nothing is left behind.

    `option` is the one that names it.
    """
    with _explaining(path, option):
        if path.is_dir():
            raise ConfigError(f"{path} is a folder: give the path of a file as {option}.")
        if path.is_file():
            path.open("ab").close()  # changes nothing
        elif not path.exists():  # what is neither is a device or a pipe, which an attempt could block
            _try_in(path.parent)


def check_folder(path: Path, names: Sequence[str], *, overwrite: bool) -> None:
    """Raise a ConfigError unless files of these names can be written there, over earlier ones only if so wished."""
    with _explaining(path):
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is not a folder: give another --out.")
        if path.is_dir() and any(path.iterdir()) and not overwrite:
            raise ConfigError(f"{path} is not empty: give another --out, or --overwrite.")
        _try_in(path)
    for name in names:
        check_file(path / name)


def _try_in(folder: Path) -> None:
    """Write a nameless file into the folder, or into the nearest one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass


@contextmanager
def _explaining(path: Path, option: str = "--out") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"{path} cannot be written ({reason}): give another {option}; nothing was asked.") from error


VARIABLE: Final = "GITHUB_STEP_SUMMARY"
MOST_BYTES: Final = 1024 * 1024  # what GitHub takes of one step
_CUT = "\n\nThis report is longer than the 1 MiB that GitHub shows of a step: the rest is left out.\n"


def summary_file() -> Path | None:
    """Return the file of the running step; None outside of GitHub's jobs."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def append_summary(markdown: str, path: Path) -> None:
    """Append a report, cut to what GitHub takes; that it cannot be written is one line on standard error."""
    try:
        before = path.stat().st_size if path.exists() else 0
        text = _fitting(markdown, MOST_BYTES - before)
        if not text:
            left = f"the step summary {safe_text(str(path))} has no room left of the 1 MiB GitHub takes"
            typer.echo(f"{left}: the report is not in it.", err=True)
            return
        with path.open("a", encoding="utf-8", errors=LONE_SURROGATES) as summary:
            summary.write(text)
    except OSError as error:
        reason = error.strerror or error
        typer.echo(f"the step summary {safe_text(str(path))} cannot be written ({reason}).", err=True)


def _fitting(markdown: str, most: int) -> str:
    """Return the text within so many bytes of UTF-8, cut at a line's end."""
    data = markdown.encode("utf-8", LONE_SURROGATES)
    if len(data) <= most:
        return markdown
    room = max(most - len(_CUT.encode()) - len("</details>\n") * 2, 0)
    kept = data[:room].decode("utf-8", "ignore")
    kept = kept[: kept.rfind("\n") + 1]
    open_parts = kept.count("<details>") - kept.count("</details>")
    closing = ("</pre>\n" if kept.count("<pre>") > kept.count("</pre>") else "") + "\n</details>\n" * open_parts
    return (kept + closing + _CUT) if kept else ""
