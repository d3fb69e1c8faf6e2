"""Writes a rewritten file in one step, and not over what somebody else has written meanwhile."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from judgeharness_integrations.migration.sources import ConfigSource, Source

__all__ = ["write_file"]


def write_file(source: Source | ConfigSource, text: str) -> str | None:
    """Put a new text in the place of the file a source was read from: all of it or nothing, in the same encoding.

    Returns:
        None, or the sentence why the file stays as it is.

    """
    path = Path(os.path.realpath(source.path))  # a link stays a link
    try:
        if path.read_bytes() != source.encoded(source.text):
            return "it has changed since it was read, so it stays as it is: run the command again."
        _replace(path, source.encoded(text))
    except UnicodeEncodeError:
        return f"its encoding {source.encoding} cannot hold the new text, so it stays as it is."
    except OSError as error:
        return f"it cannot be written ({error.strerror or error}), so it stays as it is."
    return None


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside the old one, with its permissions, and let it take its place."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
