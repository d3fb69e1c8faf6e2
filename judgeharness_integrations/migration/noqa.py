"""`# noqa` comments: of a line, of a list of codes, of a file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.sources import ConfigSource, Source

__all__ = ["Suppressions", "suppressions_of"]

_LINE = re.compile(r"#\s*noqa(?P<list>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_FILE = re.compile(
    r"^\s*#\s*judgeharness\s*:\s*noqa(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?\s*$", re.IGNORECASE
)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)
_EVERY = frozenset({""})


@dataclass(frozen=True, kw_only=True)
class Suppressions:
    """Codes that are suppressed: in the whole file, and by line; an empty code stands for every one."""

    file: frozenset[str] = frozenset()
    lines: dict[int, frozenset[str]] = field(default_factory=dict)

    def hide(self, finding: Finding) -> bool:
        """Whether a finding is suppressed by its file, its first line or its last one."""
        places = (self.file, self.lines.get(finding.line, frozenset()), self.lines.get(finding.end_line, frozenset()))
        return any("" in codes or finding.code in codes for codes in places)


def suppressions_of(source: Source | ConfigSource) -> Suppressions:
    """Return what the comments of a Python file suppress; JSON has no comments."""
    if isinstance(source, ConfigSource) or "noqa" not in source.text.lower():
        return Suppressions()
    file: set[str] = set()
    lines: dict[int, frozenset[str]] = {}
    for number, text in _comments(source):
        whole = _FILE.match(text)
        if whole is not None:
            file |= _codes(whole["codes"])
            continue
        found = _LINE.search(text)
        if found is not None and not (found["list"] is None and re.match(r"\s*:", text[found.end() :])):
            lines[number] = _codes(found["codes"])
    return Suppressions(file=frozenset(file), lines=lines)


def _comments(source: Source) -> list[tuple[int, str]]:
    """Comments only: the words may stand in a string as well."""
    import libcst as cst  # noqa: PLC0415 - few files hold such words
    from libcst.metadata import PositionProvider  # noqa: PLC0415

    positions = source.wrapper.resolve(PositionProvider)
    return [(place.start.line, node.value) for node, place in positions.items() if isinstance(node, cst.Comment)]


def _codes(text: str | None) -> frozenset[str]:
    return _EVERY if text is None else frozenset(code.upper() for code in _CODE.findall(text))
