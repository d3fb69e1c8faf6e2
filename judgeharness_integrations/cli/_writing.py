"""Whether results can be written, known before anything is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from judgeharness_integrations._errors import ConfigError

__all__ = ["check_file", "check_folder"]


def check_file(path: Path, *, option: str = "--out") -> None:
    """Raise a ConfigError unless a file can be written there; nothing is left behind.

    `option` is the one that names it.
    """
    with _told(path, option):
        if path.is_dir():
            raise ConfigError(f"{path} is a folder: give the path of a file as {option}.")
        if path.is_file():
            path.open("ab").close()  # changes nothing
        elif not path.exists():  # what is neither is a device or a pipe, which an attempt could block
            _try_in(path.parent)


def check_folder(path: Path, names: Sequence[str], *, overwrite: bool) -> None:
    """Raise a ConfigError unless files of these names can be written there, over earlier ones only if so wished."""
    with _told(path):
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
def _told(path: Path, option: str = "--out") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"{path} cannot be written ({reason}): give another {option}; nothing was asked.") from error
