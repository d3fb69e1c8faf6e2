"""Where the files of an evaluation are: below a folder, in ADK's hidden `.adk` folders too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["files_below", "project_of"]

_ADK = ".adk"


def files_below(folder: Path, ending: str) -> list[Path]:
    """Return the files of an ending below a folder, in order of name: those of a sidecar start with their time.

    Virtual environments, `node_modules` and hidden folders other than `.adk` are not looked into, links not followed.
    """
    return sorted(_files(folder, ending), key=lambda path: (path.name, str(path)))


def _files(top: Path, ending: str) -> Iterator[Path]:
    for where, folders, files in os.walk(top):
        if "pyvenv.cfg" in files and Path(where) != top:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name == _ADK or not (name.startswith(".") or name == "node_modules")]
        paths = (Path(where, name) for name in files if name.endswith(ending))
        yield from (path for path in paths if path.is_file())  # opening a pipe would wait forever


def project_of(path: Path) -> Path:
    """Return the folder that holds the `.adk` a path is in; where it is in none, the folder itself."""
    path = path.absolute()
    inside = next((part for part in (path, *path.parents) if part.name == _ADK), None)
    if inside is not None:
        return inside.parent
    return path if path.is_dir() else path.parent
