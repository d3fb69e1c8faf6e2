"""Files of JSON objects, a line each, which a process may have been cut off in writing."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from judgeharness_integrations._errors import ConfigError

__all__ = ["json_lines", "opened_lines"]


def opened_lines(path: Path) -> TextIO:
    """Open a file of lines for reading, one that ends with `.gz` as what it was compressed from."""
    if path.suffix == ".gz":
        import gzip  # noqa: PLC0415 - loaded at first use

        return gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass")
    return path.open(encoding="utf-8", errors="surrogatepass")


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; a last line that was cut off in writing is left out.

    Raises:
        ConfigError: the file cannot be read, or a line before the last is damaged.

    """
    try:
        with opened_lines(path) as file:
            lines = file.read().split("\n")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
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
