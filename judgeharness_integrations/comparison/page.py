"""A comparison as one small HTML page, or as what a notebook shows; it needs no network and no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from judgeharness_integrations.comparison.facts import FLIP_COLUMNS, caveats, details, differences, flip_cells, titled
from judgeharness_integrations.comparison.report import ComparisonReport, CriterionComparison
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["comparison_fragment", "comparison_page"]

_SHOWN: Final = 10
_STYLE: Final = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;margin:.8rem 0;display:block;overflow-x:auto}"
    "th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8886;vertical-align:top}"
    "caption{text-align:left;font-weight:600;padding:.3rem 0}h1{font-size:1.4rem}h2{font-size:1.15rem}"
)
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def comparison_page(report: ComparisonReport) -> str:
    """Return the whole comparison as an HTML document, all flips included."""
    title = _text(f"{report.before} compared with {report.after}: {report.answer}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main><h1>{title}</h1>\n"
        + "\n".join(_parts(report, most=None))
        + "\n</main></body></html>\n"
    )


def comparison_fragment(report: ComparisonReport) -> str:
    """Return what a notebook shows: the same with the first ten flips of each criterion."""
    return "\n".join(["<div>", *_parts(report, most=_SHOWN), "</div>"])


def _parts(report: ComparisonReport, *, most: int | None) -> Iterator[str]:
    yield _table(
        "did it change?",
        ("judge and criterion", "answer", "why"),
        ((titled(one), one.answer, one.reason) for one in report.criteria),
    )
    changed = list(differences(report))
    if changed:
        yield "<h2>Configurations differ: a change may be the harness's</h2>" + _list(changed)
    for one in report.criteria:
        yield from _criterion(one, most=most)
    yield "<h2>To know</h2>" + _list(caveats(report))


def _criterion(one: CriterionComparison, *, most: int | None) -> Iterator[str]:
    yield f"<h2>{_text(titled(one))}</h2>"
    if one.flips:
        shown = one.flips[:most]
        first = f", the first {len(shown)}" if len(shown) < len(one.flips) else ""
        yield _table(f"{len(one.flips)} flipped{first}", FLIP_COLUMNS, map(flip_cells, shown))
    yield _list(details(one))


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>"


def _text(text: str) -> str:
    return escape(safe_text(text, 600))
