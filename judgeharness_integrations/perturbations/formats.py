"""Another format for the same words: Markdown taken off or put on, JSON laid out anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from judgeharness_integrations.cases import map_texts
from judgeharness_integrations.perturbations._fits import wants_text
from judgeharness_integrations.perturbations._json_layout import relaid
from judgeharness_integrations.perturbations._text import Chunk, chunks, is_json, lines, looks_like_code
from judgeharness_integrations.perturbations.base import Perturbation
from judgeharness_integrations.perturbations.markdown import without_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations.base import Context

__all__ = ["format_change"]

_Style: TypeAlias = "Callable[[list[Chunk]], list[str] | None]"

_BOLDABLE = re.compile(r"( {0,3}(?:(?:[-+]|\d{1,9}[.)])[ \t]++)?)([^\s|><#=~`*_\\][^`*|]*+)")
_SENTENCE_END = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019]*+(?=\s|$)")
_LETTER_FIRST = re.compile(r" {0,3}[\"'(\u201c\u2018\u00bf\u00a1]*+[^\W\d_]")
_BACKTICKS = re.compile(r"`{3,}+")
_LONGEST_HEADING = 80


def format_change() -> Perturbation:
    """Return the perturbation that changes how the answers are formatted and keeps every word.

    Markdown is taken off where there is some; else a bold sentence, bullets or a heading are put on, the same kind
    for both answers. JSON is indented or put on one line, bare program text gets a fence. Code blocks stay.
    """
    return Perturbation("format_change", _changed, fits=wants_text("format_change"), contextual=True)


def _changed(case: Case, context: Context) -> Case:
    styles = context.random.sample((_bold, _bulleted, _headed), 3)
    return map_texts(case, lambda text: _reformatted(text, styles))


def _reformatted(text: str, styles: Iterable[_Style]) -> str:
    if is_json(text):
        return relaid(text)
    split = chunks(text)
    if not any(chunk.code for chunk in split) and looks_like_code(text):
        return _fenced(text)
    plain = without_markdown(text)
    if plain != text and plain.strip():
        return plain
    for style in styles:
        formatted = style(split)
        if formatted is not None:
            return "".join(formatted)
    # a rule behind a fence that is never closed would be code
    return f"---\n\n{text}" if split[-1].code else f"{text}\n\n---"


def _fenced(text: str) -> str:
    fence = "`" * max((len(run) + 1 for run in _BACKTICKS.findall(text)), default=3)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def _bold(split: list[Chunk]) -> list[str] | None:
    return _first_line(split, _bold_line)


def _bold_line(line: str) -> str | None:
    body = line.rstrip()
    parts = _BOLDABLE.fullmatch(body)
    if not parts:
        return None
    end = _SENTENCE_END.search(body, parts.start(2))
    cut = end.end() if end else len(body)
    sentence = body[parts.start(2) : cut]
    # behind either of these, the closing asterisks would not be read as such
    return None if sentence.endswith(("\\", "_")) else f"{parts[1]}**{sentence}**{line[cut:]}"


def _headed(split: list[Chunk]) -> list[str] | None:
    return _first_line(split, _heading)


def _heading(line: str) -> str | None:
    fits = _begins_item(line) and "#" not in line and len(line) <= _LONGEST_HEADING
    return _marked(line, "#") if fits else None


def _first_line(split: list[Chunk], change: Callable[[str], str | None]) -> list[str] | None:
    """Return the text's pieces with the first line that can be changed changed."""
    pieces = [(c.code, text) for c in split for text in ([c.text] if c.code else lines(c.text))]
    for index, (code, text) in enumerate(pieces):
        changed = None if code or text.isspace() else change(text)
        if changed is not None:
            pieces[index] = (code, changed)
            return [piece for _, piece in pieces]
    return None


def _bulleted(split: list[Chunk]) -> list[str] | None:
    """Return the pieces with a bullet before every paragraph or, in a single paragraph, before every line."""
    prose = "".join(chunk.text for chunk in split if not chunk.code)
    written = lines(prose)
    if any(line.startswith(("    ", "\t")) for line in written):
        return None
    several = any(not line.strip() for line in written[:-1])
    changed = [chunk.text if chunk.code else _with_bullets(chunk.text, several=several) for chunk in split]
    return changed if changed != [chunk.text for chunk in split] else None


def _with_bullets(prose: str, *, several: bool) -> str:
    parts = []
    begins = True
    for line in lines(prose):
        parts.append(_marked(line, "-") if begins and _begins_item(line) else line)
        begins = not several or not line.strip()
    return "".join(parts)


def _begins_item(line: str) -> bool:
    """Whether a line may get a mark in front: a table row may not, and `- 5` could be a negative number."""
    return _LETTER_FIRST.match(line) is not None and "|" not in line


def _marked(line: str, mark: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return f"{line[:indent]}{mark} {line[indent:]}"
