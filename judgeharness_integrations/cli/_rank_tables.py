"""A ranking as tables: the leaderboard, differences, groups, what else is known of judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from rich.console import RenderableType

from judgeharness_integrations.cli._agreement_printing import Row, limits, number, titled
from judgeharness_integrations.cli._printing import percent, safe
from judgeharness_integrations.ranking.bradleyterry.contrasts import NO_SPREAD, Contrast
from judgeharness_integrations.ranking.judges.measures import JudgeMeasures
from judgeharness_integrations.ranking.places import ranks_of
from judgeharness_integrations.ranking.portfolio import Portfolio
from judgeharness_integrations.ranking.report import JudgeRank, RankReport
from judgeharness_integrations.ranking.studying import RankStudy
from judgeharness_integrations.statistics.means import Z95

__all__ = [
    "FIRST_JUDGES",
    "METHOD_TITLES",
    "MOST_JUDGES",
    "contrast_table",
    "group_table",
    "judge_table",
    "leaderboard_table",
    "longer_note",
]

METHOD_TITLES: Final = {
    "bradley-terry": "Bradley-Terry",
    "conditional": "conditional maximum likelihood",
    "eip": "EIP",
}
_POWER = Z95 + 0.8416212335729143  # standard errors that a difference found in 80 % of samples amounts to
FIRST_JUDGES: Final = 40  # that a leaderboard lists where there are more than it lists all of
MOST_JUDGES: Final = 50
_NARROWEST, _NUMBER = 5, 6  # characters
_LONGEST = 40
_AHEAD = 3  # judges that the first is compared with, whatever comes of it
_FEW_CONTRASTS = 6
_MOST_LISTED = 25  # judges of whom everything is printed

Column: TypeAlias = "tuple[str, Callable[[JudgeRank], str]]"


def leaderboard_table(report: RankReport, *, width: int, whole: bool = False) -> RenderableType:
    """Return the leaderboard, the first of many judges unless the `whole` is wished for.

    Published Elo and groups are columns of it where a terminal of so many characters has room.
    """
    judges = report.judges if whole or len(report.judges) <= MOST_JUDGES else report.judges[:FIRST_JUDGES]
    columns = [*_rating_columns(report), ("ranks", _ranks), ("right", lambda one: percent(one.accuracy))]
    if len({one.n for one in judges}) > 1:
        columns.append(("pairs", lambda one: str(one.n)))
    room = width - _NUMBER - max(len(safe(one.judge, _LONGEST).plain) for one in judges) - sum(map(_wide, columns))
    for more in ([("published", lambda one: number(one.elo_published, 0))], _group_columns(report)):
        if sum(map(_wide, more)) <= room:
            columns += more
            room -= sum(map(_wide, more))
    rows: Iterator[Row] = (
        ["-" if one.rank is None else str(one.rank), safe(one.judge, _LONGEST), *(show(one) for _, show in columns)]
        for one in judges
    )
    return titled("leaderboard", ("rank", "judge", *(title for title, _ in columns)), rows, texts=2)


def _rating_columns(report: RankReport) -> list[Column]:
    elo: list[Column] = [("Elo", lambda one: number(one.elo, 0)), ("± 95 %", lambda one: _margin(one.se))]
    if report.method == "conditional":
        return elo
    elo += [
        ("cond.", lambda one: number(one.elo_conditional, 0)),
        ("± 95 %", lambda one: _margin(one.se_conditional)),
    ]
    return [("EIP", lambda one: number(one.eip)), *elo] if report.method == "eip" else elo


def _group_columns(report: RankReport) -> list[Column]:
    def column(name: str) -> Column:
        digits = 3 if report.method == "eip" else 0
        title = safe(name, 24).plain.replace("/", "/\n").replace(" ", "\n")
        return title, lambda one: number(one.groups.get(name), digits)

    return [column(name) for name in dict.fromkeys(name for one in report.judges for name in one.groups)]


def _wide(column: Column) -> int:
    """Return how many characters a column takes, with what keeps it apart from the next."""
    return 2 + max(_NARROWEST, *map(len, column[0].split("\n")))


def _margin(se: float | None) -> str:
    return "-" if se is None or se < NO_SPREAD else number(Z95 * se, 0)


def _ranks(one: JudgeRank) -> str:
    return "-" if one.rank_range is None else "-".join(map(str, one.rank_range))


def contrast_table(report: RankReport) -> RenderableType:
    """Return the differences that decide: all of few, else the first judge's with the next and with whom it beats."""
    shown = _that_matter(report.contrasts)
    found = sum(one.significant for one in report.contrasts)
    rows: Iterator[Row] = (
        [
            safe(one.judge, _LONGEST),
            safe(one.other, _LONGEST),
            number(one.difference, 0),
            "-" if one.p is None else limits(one.ci95, 0),
            _p(one.p_adjusted),
            "" if one.significant else _findable(one),
        ]
        for one in shown
    )
    of = "Bradley-Terry differences" if report.method == "eip" else "differences"
    title = f"{of} in Elo, {found} of {len(report.contrasts)} significant"
    return titled(title, ("judge", "minus", "Elo", "95 %", "p", "findable"), rows, texts=2)


def _that_matter(contrasts: Sequence[Contrast]) -> Sequence[Contrast]:
    if len(contrasts) <= _FEW_CONTRASTS:
        return contrasts
    mine = [one for one in contrasts if one.judge == contrasts[0].judge]
    beaten = next((place for place, one in enumerate(mine) if one.significant), None)
    shown = mine[:_AHEAD]
    return shown if beaten is None or beaten < _AHEAD else [*shown, mine[beaten]]


def _findable(one: Contrast) -> str:
    return "-" if one.p is None else number(_POWER * one.se, 0)


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")  # noqa: PLR2004 - the least that is shown


def group_table(found: RankStudy, made: Portfolio) -> RenderableType:
    """Return who is first in each group of pairs, and how like the order of all that group's is."""
    report = made.report
    alike = {one.group: one for one in made.groups}
    rows: list[Row] = []
    for name, rating in found.groups.items():
        scores = rating.scores(report.method)
        first = min(ranks := ranks_of(rating, report.method, rating.matrix), key=ranks.__getitem__, default=None)
        one = alike.get(name)
        rows.append(
            [
                safe(name, 30),
                "-" if first is None else safe(first, 30),
                str(len(rating.matrix.pairs)),
                str(len(scores)),
                number(None if one is None else one.spearman),
                percent(None if one is None else dict(one.top).get(5)),
            ]
        )
    columns = (safe(str(report.by), 30).plain, "first", "pairs", "judges", "Spearman", "top 5 %")
    return titled("groups, each order against that of all pairs", columns, rows, texts=2)


def judge_table(report: RankReport, *, width: int) -> RenderableType | None:
    """Return what is measured of judges beside their rank, as much of it as a terminal of so many characters shows.

    None of many judges, and where nothing is.
    """
    columns = list(_told(report))
    if len(report.judges) > _MOST_LISTED or not columns:
        return None
    room = width - max(len(safe(one.judge, _LONGEST).plain) for one in report.judges)
    shown = [column for place, column in enumerate(columns) if sum(map(_wide, columns[: place + 1])) <= room]
    rows: Iterator[Row] = ([safe(one.judge, _LONGEST), *(show(one) for _, show in shown)] for one in report.judges)
    left = ", ".join(title.replace("-\n", "").replace("\n", " ") for title, _ in columns[len(shown) :])
    title = "judges, in per cent" + (f" (no room for: {left})" if left else "")
    return titled(title, ("judge", *(title for title, _ in shown)), rows)


def _told(report: RankReport) -> Iterator[Column]:
    """Yield the columns that tell something, none that says what another has said."""
    said: set[tuple[str, ...]] = set()
    for title, show in _MEASURES:
        cells = tuple(show(one) for one in report.judges)
        if cells not in said and set(cells) - {"-", "0"}:
            said.add(cells)
            yield title, show


def _longer(one: JudgeMeasures) -> str:
    """Return how often the longer answer is preferred, and how often it is the better one in those pairs."""
    told = percent(one.prefers_longer)
    return told if one.better_longer is None else f"{told} ({percent(one.better_longer)})"


def longer_note(report: RankReport) -> str:
    """Return what stands in brackets beside the preference for longer answers; nothing where nothing does."""
    if all(one.measures.better_longer is None for one in report.judges):
        return ""
    return "- prefers longer: in brackets, how often the better answer is the longer one in the same pairs"


_MEASURES: Final[tuple[Column, ...]] = (
    ("consis-\ntency", lambda one: percent(one.measures.consistency)),
    ("first\nslot", lambda one: percent(one.measures.first_slot_rate)),
    ("prefers longer\n(better is)", lambda one: _longer(one.measures)),
    ("failed\n(count)", lambda one: str(one.measures.failed)),
    ("tokens\na pair", lambda one: number(one.measures.tokens, 0)),
    ("money\n/1000", lambda one: number(None if one.measures.cost is None else 1000 * one.measures.cost, 2)),
    ("like the\nothers", lambda one: percent(one.measures.agreement_with_judges)),
    ("agree-\nment", lambda one: percent(one.measures.agreement)),
    ("unparsed\n(count)", lambda one: str(one.measures.unparsed)),
)
