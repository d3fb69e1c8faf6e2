"""Lines at the end of a file of people's answers: they are on the disk, or they are not in the file."""

from __future__ import annotations

import os
from pathlib import Path

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import LogStorageError

__all__ = ["append_durably"]


def append_durably(path: Path, text: bytes) -> None:
    """Write at the end of a file, which may not exist yet; it is on the disk then, a new file's name too.

    Raises:
        OSError: nothing of the text is in the file, also where it was whole and the disk did not take it.
        LogStorageError: it could not be written, nor taken off again: nobody knows what of it is there.

    """
    is_new = not path.exists()
    with open(path, "ab", buffering=0, opener=owner_only) as file:
        held = file.seek(0, os.SEEK_END)
        try:
            while text:
                text = text[file.write(text) :]
            os.fsync(file.fileno())
            if is_new:
                _sync_folder(path.parent)
        except OSError as error:
            try:
                file.truncate(held)  # half a line would spoil the next one, a whole one would not be what is told
            except OSError:
                reason = error.strerror or error
                raise LogStorageError(
                    f"whether the label is kept cannot be told: writing {path} failed ({reason}), and so did taking "
                    "the line off; make room, then look at the label again."
                ) from error
            raise


def _sync_folder(folder: Path) -> None:
    """Keep the entry of a new file through a power cut, where the system lets folders be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
