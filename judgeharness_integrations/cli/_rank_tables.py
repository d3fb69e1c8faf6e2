"""A ranking as tables: leaderboard, differences, groups, panels of judges, and whether the order holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from rich.console import RenderableType

from judgeharness_integrations.analysis.ranking.analyses import Portfolio
from judgeharness_integrations.analysis.ranking.comparing import RankCorrelation
from judgeharness_integrations.analysis.ranking.contrasts import NO_SPREAD, Contrast
from judgeharness_integrations.analysis.ranking.judgetable import JudgeMeasures
from judgeharness_integrations.analysis.ranking.rating import ranks_of
from judgeharness_integrations.analysis.ranking.report import JudgeRank, RankReport
from judgeharness_integrations.analysis.ranking.studying import RankStudy
from judgeharness_integrations.analysis.statistics.means import Z95
from judgeharness_integrations.reporting.terminal import Row, safe, table
from judgeharness_integrations.verdictlog.plain import ends, fixed, p_text, percent, safe_text

__all__ = [
    "FIRST_JUDGES",
    "METHOD_TITLES",
    "MOST_JUDGES",
    "contrast_table",
    "firmness_table",
    "group_table",
    "judge_table",
    "leaderboard_table",
    "longer_note",
    "panel_notes",
    "panel_table",
    "score_gap_notes",
    "score_gap_table",
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
    columns = [*_rating_columns(report), ("ranks", _ranks), ("right", lambda one: percent(one.right_of_labelled))]
    if len({one.n for one in judges}) > 1:
        columns.append(("pairs", lambda one: str(one.n)))
    room = width - _NUMBER - max(len(safe(one.judge, _LONGEST).plain) for one in judges) - sum(map(_wide, columns))
    for more in ([("published", lambda one: fixed(one.elo_published, 0))], _group_columns(report)):
        if sum(map(_wide, more)) <= room:
            columns += more
            room -= sum(map(_wide, more))
    rows: Iterator[Row] = (
        ["-" if one.rank is None else str(one.rank), safe(one.judge, _LONGEST), *(show(one) for _, show in columns)]
        for one in judges
    )
    return table("leaderboard", ("rank", "judge", *(title for title, _ in columns)), rows, texts=2)


def _rating_columns(report: RankReport) -> list[Column]:
    elo: list[Column] = [("Elo", lambda one: fixed(one.elo, 0)), ("± 95 %", lambda one: _margin(one.se))]
    if report.method == "conditional":
        return elo
    elo += [
        ("cond.", lambda one: fixed(one.elo_conditional, 0)),
        ("± 95 %", lambda one: _margin(one.se_conditional)),
    ]
    return [("EIP", lambda one: fixed(one.eip)), *elo] if report.method == "eip" else elo


def _group_columns(report: RankReport) -> list[Column]:
    def column(name: str) -> Column:
        digits = 3 if report.method == "eip" else 0
        title = safe(name, 24).plain.replace("/", "/\n").replace(" ", "\n")
        return title, lambda one: fixed(one.groups.get(name), digits)

    return [column(name) for name in dict.fromkeys(name for one in report.judges for name in one.groups)]


def _wide(column: Column) -> int:
    """Return how many characters a column takes, with what keeps it apart from the next."""
    return 2 + max(_NARROWEST, *map(len, column[0].split("\n")))


def _margin(se: float | None) -> str:
    return "-" if se is None or se < NO_SPREAD else fixed(Z95 * se, 0)


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
            fixed(one.difference, 0),
            "-" if one.p is None else ends(one.ci95, 0),
            p_text(one.p_adjusted),
            "" if one.significant else _findable(one),
        ]
        for one in shown
    )
    of = "Bradley-Terry differences" if report.method == "eip" else "differences"
    title = f"{of} in Elo, {found} of {len(report.contrasts)} significant"
    return table(title, ("judge", "minus", "Elo", "95 %", "p", "findable"), rows, texts=2)


def _that_matter(contrasts: Sequence[Contrast]) -> Sequence[Contrast]:
    if len(contrasts) <= _FEW_CONTRASTS:
        return contrasts
    mine = [one for one in contrasts if one.judge == contrasts[0].judge]
    beaten = next((place for place, one in enumerate(mine) if one.significant), None)
    shown = mine[:_AHEAD]
    return shown if beaten is None or beaten < _AHEAD else [*shown, mine[beaten]]


def _findable(one: Contrast) -> str:
    return "-" if one.p is None else fixed(_POWER * one.se, 0)


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
                fixed(None if one is None else one.spearman),
                percent(None if one is None else dict(one.top).get(5)),
            ]
        )
    columns = (safe(str(report.by), 30).plain, "first", "pairs", "judges", "Spearman", "same of\ntop 5, %")
    return table("groups, each order against that of all pairs", columns, rows, texts=2)


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
    return table(title, ("judge", *(title for title, _ in shown)), rows)


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
    ("tokens\na pair", lambda one: fixed(one.measures.tokens, 0)),
    ("money\n/1000", lambda one: fixed(None if one.measures.cost is None else 1000 * one.measures.cost, 2)),
    ("like the\nothers", lambda one: percent(one.measures.agreement_with_judges)),
    ("agree-\nment", lambda one: percent(one.measures.agreement)),
    ("unparsed\n(count)", lambda one: str(one.measures.unparsed)),
)


def panel_table(report: RankReport) -> RenderableType:
    """Return how independently judges err, and what their majority reaches, a row a panel."""
    every = len(report.panels[-1].judges)
    pairs = {one.pairs for one in report.panels}
    same = len(pairs) == 1  # so many stand in the title, and in no column
    rows: list[Row] = [
        [
            f"all {every}" if len(one.judges) == every else f"best {len(one.judges)}",
            *([] if same else [str(one.pairs)]),
            fixed(one.correlation, 2),
            ends(one.correlation_ci95, 2),
            fixed(one.effective, 1),
            percent(one.majority),
            ends(None if one.majority_ci95 is None else _percents(one.majority_ci95), 1),
            percent(one.independent),
            percent(one.best),
        ]
        for one in report.panels
    ]
    told = ("phi", "95 %", "worth", "majority", "95 %", "if inde-\npendent", "best\nalone")
    of = f"{next(iter(pairs))} pairs" if same else "pairs"
    return table(
        f"several judges together, in per cent of {of}", ("judges", *(() if same else ("pairs",)), *told), rows
    )


def _percents(ends: tuple[float, float]) -> tuple[float, float]:
    return 100 * ends[0], 100 * ends[1]


def panel_notes(report: RankReport) -> Iterator[str]:
    """Yield what the numbers of panels mean, what is missing, and why."""
    best = "; the best are chosen by these pairs, which flatters them" if len(report.panels) > 1 else ""
    yield (
        "phi: mean correlation of the errors of two judges; worth: as many independent judges; majority: more than "
        f"half are right{best}"
    )
    for one in report.panels:
        if one.reason:
            yield f"{len(one.judges)} judges together: {one.reason}"
        if one.left_out and one.pairs:
            yield f"{len(one.judges)} judges together: {one.left_out} more pairs were not asked of every one of them"
    alike = sorted({name for one in report.panels for name in one.alike})
    if alike:
        names = ", ".join(map(safe_text, alike))
        yield f"without phi, since they are right, or wrong, in too few pairs: {names}"


def score_gap_table(made: Portfolio) -> RenderableType:
    """Return how far apart scores put the better and the worse answer, a row a judge and criterion."""
    rows: list[Row] = [
        [
            safe(one.judge, 40),
            safe(one.criterion, 30),
            str(one.pairs),
            fixed(one.mean, 2),
            ends(one.ci95, 2),
            percent(one.right / one.pairs if one.pairs else None),
            percent(one.ties / one.pairs if one.pairs else None),
            str(one.unscored),
        ]
        for one in made.score_gaps
    ]
    columns = ("judge", "criterion", "pairs", "gap", "95 %", "gap > 0", "ties", "un-\nscored")
    return table("scores of single answers: the better minus the worse, in points", columns, rows, texts=2)


def score_gap_notes(made: Portfolio) -> Iterator[str]:
    """Yield what the numbers of gaps mean, and why one is missing."""
    yield "gap: mean over pairs, and its interval; gap > 0, ties: per cent of pairs; unscored: lack a score of a side"
    for one in made.score_gaps:
        if not one.pairs:
            yield f"{safe_text(one.judge)} scored both answers of no pair: no gap"


_SHARES = (0.1, 0.5)  # of the matches
_TOP = 5


def firmness_table(made: Portfolio) -> RenderableType | None:
    """Return how alike the order is to others, a row each; None where there is no other."""
    rows = [*_correlated(made), *_fewer(made), *_without_one(made)]
    if not rows:
        return None
    return table("does the order hold?", ("compared", "judges", "Spearman", "Kendall", "same of top 5, %"), rows)


def _correlated(made: Portfolio) -> Iterator[Row]:
    for one in made.methods:
        if made.report.method in (one.x, one.y):
            yield _row(f"{one.x} with {one.y}", one)
    for comparison in made.robustness:
        # the robustness sheet compares by Bradley-Terry and EIP again
        if comparison.group is None and comparison.correlation is not None and "eip" not in comparison.name:
            yield _row(comparison.name, comparison.correlation)
    for other in made.against:
        yield _row(f"{other.name} with {other.name_against}", other.correlation)
        if other.correlation_without_generators is not None:
            yield _row("the same without judges that wrote answers", other.correlation_without_generators)


def _row(name: str, one: RankCorrelation) -> Row:
    top = percent(dict(one.top).get(_TOP))
    return [safe(name, 60), str(one.judges), fixed(one.spearman), fixed(one.kendall), top]


def _fewer(made: Portfolio) -> Iterator[Row]:
    for one in made.stability:
        if one.group is None and one.fraction in _SHARES:
            name = f"{100 * one.fraction:.0f} % of the matches, {one.draws - one.unrated} of {one.draws} draws"
            yield [safe(name), "", fixed(one.spearman), fixed(one.kendall), percent(one.top5)]


def _without_one(made: Portfolio) -> Iterator[Row]:
    known = [(one.spearman, one) for one in made.leave_one_out if one.spearman is not None]
    if known:
        _, one = min(known, key=lambda entry: entry[0])
        name = f"without {one.judge}, the worst of all"
        yield [safe(name, 42), str(len(made.leave_one_out) - 1), fixed(one.spearman), fixed(one.kendall), "-"]
