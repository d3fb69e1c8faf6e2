"""A rewrite as a unified diff, which `patch` and `git apply` take."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

from judgeharness_integrations.migration.rewriting.outcome import Rewrite

__all__ = ["diff_of"]

_LINE = re.compile(r".*?(?:\r\n|\r|\n)|.+\Z", re.DOTALL)
_NO_END = "\\ No newline at end of file\n"


def diff_of(rewrite: Rewrite, path: Path) -> str:
    """Return the diff of a file, empty where nothing changes; line endings are those of the file.

    Notes on its lines stand above it as comments, which are no part of the patch.
    """
    if not rewrite.changed:
        return ""
    before, after = (_LINE.findall(text) for text in (rewrite.before, rewrite.after))
    name = path.as_posix().lstrip("/")
    lines = unified_diff(before, after, f"a/{name}", f"b/{name}")
    notes = "".join(f"# {name}: {note}\n" for note in rewrite.line_notes)
    return notes + "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)
