"""Which files are meant: those that are named, and those of a kind below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.records import clean

__all__ = ["MOST_BYTES", "FoundFile", "found_files"]

MOST_BYTES = 200_000_000


@dataclass(frozen=True, kw_only=True)
class FoundFile:
    """A file, and the domain its place gives it: the first folder below the one that was named, else that one."""

    path: Path
    domain: str


def found_files(paths: Sequence[Path], *, endings: Sequence[str], what: str) -> list[FoundFile]:
    """Return files of some endings: each path in the order given, a folder's files sorted by their path.

    Hidden files and folders are left out, and so are files of other endings below a folder. A file is found once.

    Args:
        paths: files and folders.
        endings: as `.pdf`, in lower case.
        what: one of them, as errors name it (`a document`).

    Raises:
        UsageError: a path does not exist, is a file of another ending, or too large, or a folder holds none.

    """
    found: dict[Path, FoundFile] = {}
    for path in paths:
        if path.is_dir():
            below = [FoundFile(path=file, domain=_domain(file, path)) for file in _walked(path, endings)]
            if not below:
                raise UsageError(f"{path} holds no file that is {what}: {what} ends in {_listed(endings)}.")
        else:
            _check(path, endings, what)
            below = [FoundFile(path=path, domain=_name(path.resolve().parent))]
        for file in below:
            _check_size(file.path)
            found.setdefault(file.path.resolve(), file)
    return list(found.values())


def _check(path: Path, endings: Sequence[str], what: str) -> None:
    if not path.exists():
        raise UsageError(f"{path} does not exist: give {what}, or a folder of them.")
    if not path.is_file():
        raise UsageError(f"{path} is neither a file nor a folder: give {what}, or a folder of them.")
    if path.suffix.lower() not in endings:
        raise UsageError(f"{path}: {what} ends in {_listed(endings)}: convert the file, or leave it out.")


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise UsageError(
            f"{path} has {size // 1_000_000} MB, more than the {MOST_BYTES // 1_000_000} MB that are read: split it."
        )


def _walked(folder: Path, endings: Sequence[str]) -> list[Path]:
    return sorted(_below(folder, endings), key=lambda path: path.relative_to(folder).parts)


def _below(folder: Path, endings: Sequence[str]) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place) / name
            if not name.startswith(".") and path.suffix.lower() in endings and path.is_file():
                yield path


def _domain(file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).parts
    return _name(Path(parts[0])) if len(parts) > 1 else _name(folder.resolve())


def _name(folder: Path) -> str:
    return " ".join(clean(folder.name).split()) or "documents"


def _listed(endings: Sequence[str]) -> str:
    return f"{', '.join(endings[:-1])} or {endings[-1]}" if len(endings) > 1 else endings[0]
