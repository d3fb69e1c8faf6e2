"""Files that may hold judges: Python sources and JSON evaluation configs, read as they are and parsed at first use."""

from __future__ import annotations

import io
import json
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from judgeharness_integrations._errors import NotInstalledError, UsageError

if TYPE_CHECKING:
    import libcst as cst
    from libcst.metadata import MetadataWrapper

    from judgeharness_integrations.migration.scannedtree import ScannedTree
    from judgeharness_integrations.migration.view import ModuleView

__all__ = [
    "NOT_PYTHON",
    "SKIPPED_FOLDERS",
    "ConfigSource",
    "Source",
    "SourceError",
    "check_parser",
    "config_files",
    "excluded",
    "python_files",
]

SKIPPED_FOLDERS = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"})
# what a named file can be that is no Python, whatever its text looks like: many a YAML file can be parsed as Python
NOT_PYTHON = frozenset(
    {
        *(".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".md", ".rst", ".ipynb", ".csv", ".tsv"),
        *(".html", ".xml", ".lock", ".sh", ".js", ".ts", ".gz", ".zip", ".parquet", ".sqlite", ".db", ".png", ".pdf"),
    }
)
_BOM = "\ufeff"
_LARGEST_CONFIG = 2_000_000  # bytes; what people write by hand is smaller


class SourceError(UsageError):
    """A file that cannot be read or parsed; `path` and `line` say where."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        """Build the sentence `path:line: reason`."""
        self.path, self.line = path, line
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {reason}")


def check_parser() -> None:
    """Raise a NotInstalledError unless libcst is installed."""
    if find_spec("libcst") is None:
        raise NotInstalledError("libcst, which reads Python sources,", "migration")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Text:
    """A file's text with its line endings as they are, without byte order mark."""

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bool = False

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their endings, as editors count them."""
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))

    def encoded(self, text: str) -> bytes:
        """Return another text of this file as bytes: its encoding, its byte order mark."""
        return (_BOM if self.bom else "").encode("utf-8") + text.encode(self.encoding)


@dataclass(frozen=True, kw_only=True, eq=False)
class Source(_Text):
    """A Python file. `module` and `wrapper` are its libcst tree, parsed at first use; `view` what the tree says.

    `tree` are the files that are scanned with it, in which its imports are followed; None where it stands alone.
    """

    tree: ScannedTree | None = None

    @classmethod
    def read(cls, path: Path, *, tree: ScannedTree | None = None) -> Self:
        """Read a file in the encoding it declares.

        Raises:
            SourceError: it cannot be read, or is not in that encoding.

        """
        content = _content(path)
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
            text = content.decode(encoding)  # utf-8-sig takes the byte order mark off
        except (SyntaxError, UnicodeDecodeError) as error:
            raise SourceError(path, 1, f"its encoding cannot be read ({error}).") from None
        bom = encoding == "utf-8-sig"
        return cls(path=path, text=text, encoding="utf-8" if bom else encoding, bom=bom, tree=tree)

    def with_text(self, text: str) -> Self:
        """Return the same file with another text."""
        return type(self)(path=self.path, text=text, encoding=self.encoding, bom=self.bom, tree=self.tree)

    @cached_property
    def wrapper(self) -> MetadataWrapper:
        """The tree with its metadata; its nodes are those of `module` and of every site.

        Raises:
            SourceError: it is not Python.

        """
        import libcst as cst  # noqa: PLC0415 - few files are parsed
        from libcst.metadata import MetadataWrapper  # noqa: PLC0415

        try:
            return MetadataWrapper(cst.parse_module(self.text), unsafe_skip_copy=True)
        except cst.ParserSyntaxError as error:
            raise SourceError(self.path, error.raw_line, "it cannot be parsed as Python 3.") from None
        except RecursionError:
            raise SourceError(self.path, None, "it nests too deeply to be parsed.") from None

    @property
    def module(self) -> cst.Module:
        """The libcst tree; `module.code` is `text` again."""
        return self.wrapper.module

    @cached_property
    def view(self) -> ModuleView:
        """Names, bindings and positions of the tree."""
        from judgeharness_integrations.migration.view import ModuleView  # noqa: PLC0415 - few files are parsed

        return ModuleView(self.wrapper, self.path, self.tree)

    def forget(self) -> None:
        """Forget what was found out about the tree, as other files have changed what it means; it stays parsed."""
        self.__dict__.pop("view", None)


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfigSource(_Text):
    """A JSON evaluation config of ADK: an object with `criteria`."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            SourceError: it cannot be read or is not UTF-8.

        """
        try:
            text = _content(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(path, None, f"it is not UTF-8 ({error.reason}).") from None
        return cls(path=path, text=text.removeprefix(_BOM), bom=text.startswith(_BOM))

    def with_text(self, text: str) -> Self:
        """Return the same file with another text."""
        return type(self)(path=self.path, text=text, encoding=self.encoding, bom=self.bom)

    @cached_property
    def document(self) -> Any:
        """The parsed JSON.

        Raises:
            SourceError: it is not JSON.

        """
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            raise SourceError(self.path, error.lineno, f"it is not JSON ({error.msg}).") from None
        except RecursionError:
            raise SourceError(self.path, None, "it nests too deeply to be parsed.") from None

    @property
    def criteria(self) -> Mapping[str, Any]:
        """Metric name -> its criterion (a threshold or an object); empty for other JSON."""
        document = self.document
        found = document.get("criteria") if isinstance(document, dict) else None
        return found if isinstance(found, dict) else {}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(path, None, f"it cannot be read ({error.strerror or error}).") from None


def excluded(path: Path, patterns: Sequence[str]) -> bool:
    """Whether a path, one of its folders or its name matches one of the patterns (`build`, `*/generated/*`)."""
    text = path.as_posix()
    return any(
        fnmatch(text, pattern) or fnmatch(text, f"*/{pattern}") or any(fnmatch(part, pattern) for part in path.parts)
        for pattern in (given.rstrip("/") for given in patterns)
    )


def python_files(paths: Iterable[Path], *, exclude: Sequence[str] = ()) -> tuple[Path, ...]:
    """Return the Python files below paths, sorted; files that are named are taken whatever they are called.

    Raises:
        UsageError: a path does not exist.

    """
    return tuple(dict.fromkeys(_files(paths, (".py",), exclude)))


def config_files(paths: Iterable[Path], *, exclude: Sequence[str] = ()) -> tuple[Path, ...]:
    """Return the JSON files below paths that look like ADK evaluation configs: they hold a key `criteria`.

    Raises:
        UsageError: a path does not exist.

    """
    return tuple(dict.fromkeys(path for path in _files(paths, (".json",), exclude) if _has_criteria(path)))


def _files(paths: Iterable[Path], suffixes: tuple[str, ...], exclude: Sequence[str]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (found for found in _below(path, path, exclude) if found.suffix in suffixes)
        elif not path.exists():
            raise UsageError(f"{path} does not exist: name a file or a folder.")
        elif path.suffix in suffixes or (".py" in suffixes and path.suffix not in NOT_PYTHON):
            yield path


def _below(folder: Path, root: Path, exclude: Sequence[str]) -> Iterator[Path]:
    """Yield files, never through a skipped folder or a link to a folder; what cannot be listed holds none."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if excluded(entry.relative_to(root), exclude):
            continue
        if entry.is_dir():
            if entry.name not in SKIPPED_FOLDERS and not entry.is_symlink():
                yield from _below(entry, root, exclude)
        elif entry.is_file():
            yield entry


def _has_criteria(path: Path) -> bool:
    try:
        return path.stat().st_size <= _LARGEST_CONFIG and b'"criteria"' in path.read_bytes()
    except OSError:
        return False
