"""Texts of judges, cases and people on a page: what cannot be seen is made visible, what could act is escaped."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from judgeharness_integrations._version import __version__
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.report import RunReport
from judgeharness_integrations.reporting.html.calibrationcards import annotators_section
from judgeharness_integrations.reporting.html.caserows import CaseTable, case_details, case_table, texts_of
from judgeharness_integrations.reporting.html.charts import Tones, grouped, interval_text, percent
from judgeharness_integrations.reporting.html.judgecards import judge_card
from judgeharness_integrations.reporting.html.overview import column_names, headlines
from judgeharness_integrations.reporting.limits import limits
from judgeharness_integrations.verdictlog.plain import counted, time_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.report import GateReport

# Controls, what overrides the direction of other text, what has no width, lone surrogates. Marks that Arabic, Hebrew,
# Persian and emoji need (LRM, RLM, ALM, ZWJ, ZWNJ) reorder nothing outside of their isolated element.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BREAKS = re.compile("\r\n?|[\u2028\u2029]")
_ACTIVE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def visible(text: str) -> str:
    """Return a text in which unseen characters stand as `[U+202E]`; line breaks of every kind become a newline."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _BREAKS.sub("\n", text))


def isolated(text: object) -> Markup:
    """Return an escaped text that cannot reorder what stands around it."""
    return Markup("<bdi>{}</bdi>").format(escape(visible(str(text))))


def embedded_json(value: Any) -> Markup:
    """Return JSON that may stand inside a script element: nothing in it ends the element or starts another one.

    Texts are made `visible`, so it holds neither lone surrogates nor U+2028 and U+2029.
    """
    text = json.dumps(_seen(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(re.sub("[<>&]", lambda found: _ACTIVE[found[0]], text))  # noqa: S704 - escaped right here


def _seen(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _seen(part) for key, part in value.items()}
    return [_seen(part) for part in value] if isinstance(value, (list, tuple)) else value


_HERE = "judgeharness_integrations.reporting.html"
_STYLES = ("page.css", "figures.css", "cards.css", "cases.css", "print.css")
_SCRIPTS = ("dom.js", "details.js", "table.js", "main.js")


@dataclass(frozen=True)
class Asset:
    """A style or script as it stands in the page, and the source expression a policy allows it by."""

    text: Markup
    allowed: str


def asset(text: str) -> Asset:
    """Return a style or script of the product's own, never of somebody's texts, with its digest."""
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return Asset(text=Markup(text), allowed=f"'sha256-{digest}'")  # noqa: S704 - a file of this package


def _read(name: str) -> str:
    return files(_HERE).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def style() -> Asset:
    """Return the page's style."""
    return asset("\n" + "\n".join(map(_read, _STYLES)))


@cache
def script() -> Asset:
    """Return the page's script."""
    return asset('\n(() => {\n"use strict";\n' + "\n".join(map(_read, _SCRIPTS)) + "})();\n")


@cache
def environment(package: str = _HERE) -> Environment:
    """Return the environment of the templates of a package, with those of the report's page beside them."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, _HERE))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "grouped": grouped,
        "interval": interval_text,
        "iso": isolated,
        "time": time_text,
        "percent": percent,
        "plural": counted,
    }
    return made


def _finalize(value: object) -> object:
    """Make every printed text visible; what was not measured has words of its own."""
    if value is None:
        raise TypeError("a template prints None")
    return visible(value) if type(value) is str else value


_MOST_BADGES = 6
_AT_ONCE = 200  # rows of one piece of the table; later pieces cost nothing until the script needs them
_STATES = {
    "budget_exhausted": "stopped: the budget is used up",
    "judge_down": "stopped: a judge is down",
    "unfinished": "not finished",
}


def html_report(report: RunReport, *, gates: GateReport | None = None) -> str:
    """Return the report as one HTML page that needs nothing else: no network, no other file.

    Every text of cases, judges and people is escaped, and a policy in the page allows its own script and style alone.
    It is readable without a script; opening, filtering and sorting cases need it. The same report always gives the same
    page, and a page says no more of a case than the report holds: `case_texts` where they were given, reasons where the
    log kept them.

    Args:
        report: a run, a log or the results of a session.
        gates: what gates said about it; without, what the run's own gates said is shown.

    """
    tones = Tones(report.results)
    table = case_table(report, tones)
    lines = headlines(report)
    mine: dict[str, list[HarnessResult]] = {section.judge: [] for section in report.judges}
    for result in report.results:
        mine[result.judge].append(result)
    page = environment().get_template("page.html")
    return page.render(
        style=style(),
        script=script(),
        title=_title(report),
        report=report,
        source=PurePath(report.source).name or report.source,
        state=_STATES.get(report.state, report.state_text),
        headlines=lines,
        columns=column_names(lines),
        gates=gates or report.gates,
        gates_of_run=gates is None,
        most_badges=_MOST_BADGES,
        judges=[judge_card(section, mine[section.judge], tones) for section in report.judges],
        annotators=annotators_section(report),
        table=table,
        at_once=_AT_ONCE,
        not_asked=sum(section.not_asked for section in report.judges),
        details=_details(report, table, tones),
        texts=_texts(report),
        limits=limits(report),
        version=__version__,
    )


def _title(report: RunReport) -> str:
    cases = counted(report.cases, "case")
    names = [section.judge for section in report.judges]
    if not names:
        return "Nothing was judged"
    return f"{cases} judged by {names[0] if len(names) == 1 else f'{len(names)} judges'}"


def _details(report: RunReport, table: CaseTable, tones: Tones) -> Iterator[tuple[int, Markup]]:
    """Yield, of each row of the table, the data that it opens to."""
    everywhere = {
        section.judge: [sentence for sentence, count in section.not_measured.items() if count >= section.cases]
        for section in report.judges
    }
    for number, row in enumerate(table.rows):
        yield number, embedded_json(case_details(row, tones, everywhere[row.judge]))


def _texts(report: RunReport) -> Iterator[tuple[int, Markup]]:
    """Yield the texts of each judged case, once for all of its judges."""
    judged = {result.case_id for result in report.results}
    for number, (case, texts) in enumerate(report.case_texts.items()):
        if case in judged:
            yield number, embedded_json(texts_of(texts))
