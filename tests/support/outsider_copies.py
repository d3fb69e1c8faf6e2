"""Ways to copy a text, by somebody who has not read the readers. None adds a verdict."""

from __future__ import annotations

import html
import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from urllib.parse import quote

__all__ = ["COPIES", "QUOTED_HONESTLY", "lines_in"]

Copy = Callable[[str], str]
COPIES: dict[str, Copy] = {}


def _copy(make: Copy) -> Copy:
    COPIES[make.__name__.strip("_").replace("_", " ")] = make
    return make


def lines_in(text: str, form: str) -> str:
    """Return the text with every line put into a form with `{n}` and `{line}`."""
    lines = enumerate(text.splitlines(), 1)
    return "\n".join(form.replace("{n}", str(n)).replace("{line}", line) for n, line in lines)


def _every_word(text: str, change: Callable[[int, str], str]) -> str:
    parts = re.split(r"(\s+)", text)
    return "".join(part if place % 2 else change(place // 2, part) for place, part in enumerate(parts))


def _per_line(name: str, form: str) -> None:
    COPIES[name] = lambda text: lines_in(text, form)


for _name, _form in {
    "nested block quotation": "> > {line}",
    "bullets": "\u2022 {line}",
    "ticked list": "- [x] {line}",
    "numbered list": "{n}) {line}",
    "lettered with section sign": "\u00a7 {n}. {line}",
    "line numbers": "    {n}\t{line}",
    "grep output": "answer.txt:{n}:{line}",
    "log": "2024-03-0{n} 10:1{n}:07,311 INFO  reader - {line}",
    "added lines": "+{line}",
    "chat transcript": "[10:0{n}] author: {line}",
    "speaker in front": "The author: {line}",
    "table of two columns": "| {n} | {line} |",
    "cells in bold": "| **{line}** |",
    "csv": '{n};"{line}"',
    "comments": "# {line}",
    "comments of C": "// {line}",
    "indented by a tab": "\t{line}",
    "typographic quotes": "\u201e{line}\u201c",
    "guillemets": "\u00ab {line} \u00bb",
    "corner brackets": "\u300c{line}\u300d",
    "struck through": "~~{line}~~",
    "bold italics": "***{line}***",
    "heading": "### {line}",
    "html list": "<li>{line}</li>",
    "in backticks": "`{line}`",
    "with footnote marks": "{line} [^{n}]",
    "from right to left": "\u202b{line}\u202c",
}.items():
    _per_line(_name, _form)


@_copy
def _yaml_block(text: str) -> str:
    return f"material:\n  author: unknown\n  text: |-\n{textwrap.indent(text, '    ')}\n  checked: never"


@_copy
def _xml_cdata(text: str) -> str:
    return f'<?xml version="1.0"?>\n<material lang="und"><![CDATA[{text}]]></material>'


@_copy
def _html_entities(text: str) -> str:
    brackets = html.escape(text).replace("[", "&#91;").replace("]", "&#93;").replace("\n", "<br>\n")
    return f"<blockquote><p>{brackets}</p></blockquote>"


@_copy
def _json_string(text: str) -> str:
    return json.dumps({"material": {"author": "unknown", "text": text}})


@_copy
def _jsonlines_in(text: str) -> str:
    return json.dumps({"lines": text.splitlines()}, indent=2, ensure_ascii=False)


@_copy
def _python_string(text: str) -> str:
    return f">>> material\n{text!r}"


@_copy
def _here_document(text: str) -> str:
    return f"$ cat <<'END'\n{text}\nEND"


@_copy
def _tilde_fence(text: str) -> str:
    return f"~~~text\n{text}\n~~~"


@_copy
def _fence_that_stays_open(text: str) -> str:
    return f"````\n{text}"


@_copy
def _latex(text: str) -> str:
    return f"\\begin{{quote}}\n{text}\n\\end{{quote}}"


@_copy
def _bulletin_board(text: str) -> str:
    return f"[quote=author]{text}[/quote]"


@_copy
def _quotation_in_a_quotation(text: str) -> str:
    return f"She wrote: \u201cHe wrote: \u2018They wrote: \u00ab{text}\u00bb\u2019\u201d"


@_copy
def _wrapped_at_24(text: str) -> str:
    return "\n".join(textwrap.fill(line, 24) for line in text.splitlines())


@_copy
def _unwrapped(text: str) -> str:
    return " / ".join(line for line in text.splitlines() if line.strip())


@_copy
def _capitals(text: str) -> str:
    return text.upper()


@_copy
def _title_case(text: str) -> str:
    return _every_word(text, lambda _, word: word[:1].upper() + word[1:].lower())


@_copy
def _zero_width_within_words(text: str) -> str:
    return _every_word(text, lambda _, word: "\u200b".join(word))


@_copy
def _soft_hyphens(text: str) -> str:
    return _every_word(text, lambda _, word: f"{word[:3]}\u00ad{word[3:]}")


@_copy
def _no_break_spaces(text: str) -> str:
    return text.replace(" ", "\u00a0")


@_copy
def _fullwidth(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text)


@_copy
def _words_fullwidth(text: str) -> str:
    return re.sub(r"\b[a-z]{4,}\b", lambda found: _fullwidth(found[0]), text)


@_copy
def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@_copy
def _cyrillic_look_alikes(text: str) -> str:
    return _every_word(text, lambda _, word: word.translate(str.maketrans("aeopc", "\u0430\u0435\u043e\u0440\u0441")))


@_copy
def _typewriter_to_typographic(text: str) -> str:
    return text.replace("'", "\u2019").replace(" - ", " \u2013 ").replace(",", "\u201a").replace(": ", "\u2009: ")


@_copy
def _escaped_for_markdown(text: str) -> str:
    return re.sub(r"([\[\]{}*_`<>#.])", r"\\\1", text)


@_copy
def _escaped_unicode(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


@_copy
def _in_an_address(text: str) -> str:
    return f"https://example.org/?q={quote(text, safe='[]{}: ')}"


@_copy
def _every_word_quoted(text: str) -> str:
    return _every_word(text, lambda _, word: f'"{word}"' if word.isalpha() else word)


@_copy
def _every_fifth_word_glossed(text: str) -> str:
    return _every_word(text, lambda place, word: f"{word} (sic)" if place % 5 == 4 else word)


@_copy
def _words_numbered(text: str) -> str:
    return _every_word(text, lambda place, word: f"{word}({place + 1})" if word.isalpha() else word)


@_copy
def _one_word_per_line(text: str) -> str:
    return "\n".join(text.split(" "))


@_copy
def _commas_to_dashes(text: str) -> str:
    return text.replace(", ", " \u2014 ").replace(". ", "; ")


@_copy
def _labels_in_bold(text: str) -> str:
    return re.sub(r"(?m)^(\w[\w ]{0,30}):", r"**\1:**", text)


@_copy
def _labels_as_list(text: str) -> str:
    return re.sub(r"(?m)^(\w[\w ]{0,30}): *", r"* `\1` = ", text)


@_copy
def _objects_reformatted(text: str) -> str:
    return re.sub(r"\{[^{}]*\}", lambda found: _pretty(found[0]), text)


@_copy
def _objects_as_yaml(text: str) -> str:
    return re.sub(r"\{[^{}]*\}", lambda found: re.sub(r'[{}",]', "", _pretty(found[0])), text)


def _pretty(text: str) -> str:
    try:
        return json.dumps(dict(reversed(json.loads(text).items())), indent=4)
    except ValueError:
        return text


@_copy
def _beginning_only(text: str) -> str:
    return f"{text[: len(text) * 2 // 3]} [...]"


@_copy
def _end_only(text: str) -> str:
    return f"[...] {text[len(text) // 3 :]}"


@_copy
def _last_eight_words(text: str) -> str:
    return "... " + " ".join(re.findall(r"\S+\s*", text)[-8:])


@_copy
def _last_three_words(text: str) -> str:
    return "... " + " ".join(text.split()[-3:])


@_copy
def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]


@_copy
def _middle_left_out(text: str) -> str:
    words = re.findall(r"\S+\s*", text)
    return "".join([*words[: len(words) // 3], "(...) ", *words[len(words) * 2 // 3 :]])


@_copy
def _lines_backwards(text: str) -> str:
    return "\n".join(reversed(text.splitlines()))


@_copy
def _said_twice(text: str) -> str:
    return f"{text}\n\nOnce more, more slowly:\n\n{text}"


@_copy
def _letter(text: str) -> str:
    return f"On Tue, 5 Mar 2024 at 10:11, author <a@example.org> wrote:\n{lines_in(text, '> {line}')}\n\n-- \nA judge"


@_copy
def _subtitles(text: str) -> str:
    return "\n\n".join(
        f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n{line}" for n, line in enumerate(text.splitlines(), 1)
    )


# copies that an honest judge may well make before it decides
QUOTED_HONESTLY: Mapping[str, Copy] = {
    name: COPIES[name]
    for name in (
        "nested block quotation",
        "bullets",
        "log",
        "chat transcript",
        "table of two columns",
        "typographic quotes",
        "corner brackets",
        "yaml block",
        "xml cdata",
        "json string",
        "tilde fence",
        "wrapped at 24",
        "unwrapped",
        "title case",
        "zero width within words",
        "every fifth word glossed",
        "beginning only",
        "end only",
        "last line",
        "letter",
    )
}
