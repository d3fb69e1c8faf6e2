"""The summary of a GitHub job: a report appended to the file that `$GITHUB_STEP_SUMMARY` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import typer

from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["VARIABLE", "append_summary", "summary_file"]

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
