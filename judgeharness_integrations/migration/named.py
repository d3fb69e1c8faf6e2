"""Files that were named and are not read: a typed name that is passed over would look like a clean file."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from judgeharness_integrations.migration.prefilter import may_hold_judges
from judgeharness_integrations.migration.sources import NOT_PYTHON, Source, SourceError, config_files

__all__ = ["unread_files"]


def unread_files(paths: Iterable[Path]) -> tuple[SourceError, ...]:
    """Return why those of some paths that are files are not read; files that can be read, and folders, say nothing.

    Python files that may hold judges are left out: whoever parses them says what is wrong with them.
    """
    return tuple(error for path in dict.fromkeys(paths) if path.is_file() for error in _unread(path))


def _unread(path: Path) -> Iterator[SourceError]:
    if path.suffix == ".json":
        if not config_files([path]):
            yield SourceError(path, None, "it is no config of ADK (an object with criteria): it was not read.")
    elif path.suffix in NOT_PYTHON:
        yield SourceError(path, None, "it is neither Python nor a config of ADK: it was not read.")
    else:
        yield from _unparsed(path)


def _unparsed(path: Path) -> Iterator[SourceError]:
    try:
        source = Source.read(path)
        if not may_hold_judges(source.text):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its string escapes
                ast.parse(source.text)
    except SourceError:
        return  # whoever reads it says so
    except SyntaxError as error:
        yield SourceError(path, error.lineno, "it cannot be parsed as Python 3.")
    except (ValueError, RecursionError, MemoryError):  # a null character; nested too deeply
        yield SourceError(path, None, "it cannot be parsed as Python 3.")
