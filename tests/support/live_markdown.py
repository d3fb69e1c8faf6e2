"""What is alive in Markdown as GitHub shows it: links, images, HTML, mentions, references, code."""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt

__all__ = ["HOSTILE_TEXTS", "live_parts"]

_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_OWN_HTML = re.compile(r"</?(?:details|summary|pre|br)>")
# what GitHub makes a link of in plain text, by its documentation of autolinked references, mentions and URLs
_LOOKED_FOR = {
    "URL": re.compile(r"\b(?:https?|ftp|mailto|xmpp):[\w/]", re.IGNORECASE),
    "www": re.compile(r"www\.\w", re.IGNORECASE),
    "mail": re.compile(r"[\w.+-]+@[\w-]+\.\w"),
    "mention": re.compile(r"(?<!\w)@\w"),
    "reference": re.compile(r"#\d|\bGH-\d", re.IGNORECASE),
    "emoji": re.compile(r":\w+:"),
}
_NO_MARKUP = {"text", "softbreak", "hardbreak", "strong_open", "strong_close"}

HOSTILE_TEXTS = [
    "[x](http://evil.example)",
    "![x](https://evil.example/x.png)",
    "<http://evil.example>",
    "<me@evil.example>",
    "http://evil.example/a?b=c",
    "HTTPS://EVIL.EXAMPLE",
    "www.evil.example",
    "_www.evil.example_",
    "(WWW.evil.example)",
    "me@evil.example",
    "mailto:me@evil.example",
    "@octocat and @org/team",
    "#123 and octo/repo#4",
    "GH-5",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a | b | c",
    "`code` ```fence```",
    "**bold** _it_ ~~no~~",
    ":tada:",
    "&lt;b&gt; &#64;octocat",
    "\\[x\\](http://evil.example)",
    "# heading",
    "[x]: http://evil.example",
    "--- |",
]


def live_parts(text: str) -> list[str]:
    """Return what a page makes of a text besides showing it; headings, tables, lists and bold words are its own."""
    found = []
    for token in _MARKDOWN.parse(text):
        if token.type == "html_block" and re.sub(_OWN_HTML, "", token.content).count("<"):
            found.append(f"HTML: {token.content}")
        inside = token.children or []
        marked = (one for one in inside if one.type not in _NO_MARKUP and not _OWN_HTML.fullmatch(one.content))
        found += [f"{one.type}: {one.content or one.attrs}" for one in marked]
        shown = "".join(one.content for one in inside if one.type == "text")
        found += [f"{name}: {shown}" for name, pattern in _LOOKED_FOR.items() if pattern.search(html.unescape(shown))]
    return found
