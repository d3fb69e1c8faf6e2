"""The pages of the documentation and their code blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Block", "Command", "blocks", "commands", "pages"]

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(
    r"(?:^<!--(?P<note>[^\n]*)-->\n)?^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_PRINTED = re.compile(r"\n*(?:[^\n`]+\n)*\n*^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_VARIABLE = re.compile(r"([A-Z_]+)=(.*)")
_OF_ONE_RUN = re.compile(r"\b[0-9a-f]{12}  \d\d-\d\d \d\d:\d\d")
_EXIT = re.compile(r"#.*\bexit code (\d+)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: its language as it stands behind the fence, its text, the comment on the line before it.

    `printed` is the text block behind it, with a paragraph between them at most; empty where there is none.
    """

    page: str
    number: int
    kind: str
    text: str
    note: str
    printed: str

    @property
    def name(self) -> str:
        return f"{self.page}#{self.number}"

    @property
    def not_run(self) -> str:
        """Why the block is not run, empty when it is."""
        return self.note.partition("not run:")[2].strip()

    def unprinted(self, output: str) -> list[str]:
        """The lines behind it that the output lacks; spaces, names of runs and times do not count."""
        if "prints otherwise:" in self.note:
            return []
        lines = [line for line in self.printed.splitlines() if line.strip() not in {"", "..."}]
        return [line for line in lines if _comparable(line) not in _comparable(output)]


@dataclass(frozen=True, kw_only=True)
class Command:
    """One line that calls `judgeharness` or `pytest`, and the exit code its comment names."""

    environment: Mapping[str, str]
    program: str
    arguments: tuple[str, ...]
    exit_code: int


def _comparable(text: str) -> str:
    return " ".join(_OF_ONE_RUN.sub("RUN", text).split())


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(kind: str | None = None) -> list[Block]:
    """Every block of every page, or those of one language."""
    found = []
    for page in pages():
        whole = page.read_text(encoding="utf-8")
        for number, match in enumerate(_BLOCK.finditer(whole)):
            name = page.relative_to(ROOT).as_posix()
            note = (match["note"] or "").strip()
            behind = _PRINTED.match(whole, match.end())
            printed = behind[1] if behind else ""
            found.append(
                Block(page=name, number=number, kind=match["kind"], text=match["text"], note=note, printed=printed)
            )
    return [block for block in found if kind in (None, block.kind)]


def commands(text: str) -> list[Command]:
    """The lines of a bash block, each a command of ours or pytest; anything else is a mistake of the page."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        environment = {}
        while words and (given := _VARIABLE.fullmatch(words[0])):
            environment[given[1]] = given[2]
            words = words[1:]
        if not words:
            continue
        if words[0] not in {"judgeharness", "pytest"}:
            raise ValueError(f"neither judgeharness nor pytest: {line}")
        exit_code = _EXIT.search(line)
        found.append(
            Command(
                environment=environment,
                program=words[0],
                arguments=tuple(words[1:]),
                exit_code=int(exit_code[1]) if exit_code else 0,
            )
        )
    return found
