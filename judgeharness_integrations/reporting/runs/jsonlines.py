"""Files of JSON objects, a line each, which a process may have been cut off in writing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import ConfigError

__all__ = ["json_lines"]


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; a last line that was cut off in writing is left out.

    Raises:
        ConfigError: the file cannot be read, or a line before the last is damaged.

    """
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogatepass").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{path.parent} holds no results of a run ({path.name}: {reason}): give the folder that `judgeharness run "
            "--out` wrote, recorded results, or a verdict log with --rule."
        ) from error
    written = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    for number, line in written:
        try:
            found = json.loads(line)
        except ValueError as error:
            if number == written[-1][0]:
                return
            raise ConfigError(f"{path}: line {number} is damaged: write the file again.") from error
        if not isinstance(found, dict):
            raise ConfigError(f"{path}: line {number} holds no JSON object: write the file again.")
        yield found
