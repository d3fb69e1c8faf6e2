"""Documents: whose files they are, the one reader of YAML, and results as pydantic fields."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ._errors import ConfigError, UsageError

if TYPE_CHECKING:
    import yaml
    from pydantic_core import CoreSchema


DATABASE_SUFFIXES: Final = (".sqlite", ".db")


def refuse_same(option: str, path: Path, *read: Path | None) -> None:
    """Refuse to write where something else is read from."""
    for other in read:
        if other is not None and path.is_file() and other.is_file() and path.samefile(other):
            raise UsageError(f"{option} {path} is {other}, which is read: give another {option}.")


def owner_only(path: str | Path, flags: int) -> int:
    """Open a file for `open(..., opener=owner_only)`.

    One that is made by it is its owner's alone (0600) from the first moment; one that is there keeps its mode.
    """
    return os.open(path, flags, 0o600)


_MERGE: Final = "tag:yaml.org,2002:merge"
_LONGEST: Final = 1_000_000  # characters; what people write by hand is shorter, and parsing more takes minutes
_DEEPEST: Final = 50
_MOST_ADDED: Final = 1_000_000  # characters that stand in for aliases and merged keys
_Distinct = Callable[[Iterable[tuple[Any, Any]]], object]


class YamlError(ValueError):
    """A text is no YAML, or none that is read here; `problem` says why, in which line if that is known."""

    def __init__(self, problem: str) -> None:
        """Say what the problem is."""
        super().__init__(problem)
        self.problem = problem


def load_yaml(text: str, *, distinct: _Distinct | None = None) -> Any:
    """Return what a YAML document holds, as plain data.

    Args:
        text: the document.
        distinct: given the keys of every mapping, each with None, raises where one stands twice; without it the last
            one counts.

    Raises:
        YamlError: it is no YAML, is longer than a million characters, nested deeper than 50 levels, or its aliases
            stand for more than a million characters.

    """
    import yaml  # noqa: PLC0415 - loaded when something is read

    if len(text) > _LONGEST:
        raise YamlError(f"it has {len(text):,} characters, more than the {_LONGEST:,} that are read: split it")

    class Loader(yaml.SafeLoader):
        """Like `SafeLoader`, but bounded."""

        depth = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.depth >= _DEEPEST:
                line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
                raise YamlError(f"it is nested deeper than {_DEEPEST} levels, line {line}")
            self.depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

        def get_single_node(self) -> yaml.Node | None:
            node = super().get_single_node()
            if node is not None:
                _check_aliases(node, len(text))
            return node

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[Any, Any]:
        if distinct is not None:
            distinct((loader.construct_object(key, deep=True), None) for key, _ in node.value if key.tag != _MERGE)
        loader.flatten_mapping(node)  # puts merged keys before the mapping's own, which override them
        return dict(loader.construct_pairs(node, deep=True))

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    try:
        return yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise YamlError(f"{getattr(error, 'problem', None) or error}{where}") from error
    except TypeError as error:
        raise YamlError("a list or a mapping cannot be a key") from error


def _check_aliases(node: yaml.Node, length: int) -> None:
    """Refuse a document whose aliases stand for much more than is written, before anything is made of it."""
    if _written_out(node, {}, set()) > length + _MOST_ADDED:
        raise YamlError(f"its aliases stand for more than {_MOST_ADDED:,} characters: write out what is needed")


def _written_out(node: yaml.Node, known: dict[int, int], above: set[int]) -> int:
    """Return how long a document is without aliases; each node is measured once."""
    if id(node) in above:
        raise YamlError(f"an alias stands inside of what it stands for, line {node.start_mark.line + 1}")
    if id(node) not in known:
        above.add(id(node))
        if isinstance(node.value, str):
            size = len(node.value) + 1
        else:
            parts = (part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,)))
            size = 1 + sum(_written_out(part, known, above) for part in parts)
        above.discard(id(node))
        known[id(node)] = size
    return known[id(node)]


_T = TypeVar("_T")


def document_schema(
    kind: type[_T], *, read: Callable[[Mapping[str, Any]], _T], write: Callable[[_T], dict[str, Any]]
) -> CoreSchema:
    """Return how pydantic takes a value: one of the kind, or the document of one."""
    from pydantic_core import core_schema  # noqa: PLC0415 - who asks has loaded it

    def value(document: dict[str, Any]) -> _T:
        try:
            return read(document)
        except ConfigError as error:
            raise ValueError(str(error)) from error

    document = core_schema.no_info_after_validator_function(value, core_schema.dict_schema())
    return core_schema.json_or_python_schema(
        json_schema=document,
        python_schema=core_schema.union_schema([core_schema.is_instance_schema(kind), document]),
        serialization=core_schema.plain_serializer_function_ser_schema(write),
    )
