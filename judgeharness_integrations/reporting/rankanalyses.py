"""What is analysed beside a ranking, for people: groups of pairs, whether the order holds, scores of single answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.analysis.ranking.analyses import ANALYSES
from judgeharness_integrations.analysis.ranking.judgetable import answer_key, pairwise_criterion
from judgeharness_integrations.analysis.ranking.rating import ranks_of
from judgeharness_integrations.reporting.ranking import rank_section
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Table
from judgeharness_integrations.verdictlog.plain import ends, fixed, percent

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.design import RuleFixed
    from judgeharness_integrations.analysis.ranking.analyses import Portfolio
    from judgeharness_integrations.analysis.ranking.comparing import RankCorrelation
    from judgeharness_integrations.analysis.ranking.pointwise import ScoreGap
    from judgeharness_integrations.analysis.ranking.rating import Method, Rating
    from judgeharness_integrations.analysis.ranking.studying import RankStudy

_SHARES: Final = (0.1, 0.5)  # of the matches
_TOP: Final = 5
_MENTIONED: Final = ("tokens", "money", "self_preference")
_UNASKED: Final = ("groups", "against", "score_gaps", "audit")  # nobody misses what was not asked for


def analysed_section(
    study: RankStudy, made: Portfolio, *, source: str, rule_fixed: RuleFixed, whole: bool = False
) -> Section:
    """Return a ranking and what was analysed beside it for people.

    Args:
        study: what was ranked.
        made: what came out.
        source: what was ranked, as the title names it.
        rule_fixed: whether the rule was chosen before the samples.
        whole: list every judge, however many.

    """
    return rank_section(
        made.report,
        source=source,
        whole=whole,
        answers=len({answer_key(row) for row in study.rows}),
        rule_fixed=rule_fixed,
        beside=(*_groups(study, made), *_firmness(made), *_score_gaps(made)),
        not_measured=tuple(_not_measured(study, made)),
    )


def _groups(study: RankStudy, made: Portfolio) -> Iterator[Table]:
    """Yield who is first in each group of pairs, and how like the order of all that group's is."""
    if study.groups:
        columns = (str(made.report.by), "first", "pairs", "judges", "Spearman", "same of\ntop 5, %")
        alike = {one.group: one for one in made.groups}
        rows = (_group(name, rating, made.report.method, alike.get(name)) for name, rating in study.groups.items())
        yield Table.of("groups, each order against that of all pairs", columns, rows, texts=2)


def _group(name: str, rating: Rating, method: Method, alike: RankCorrelation | None) -> list[str]:
    ranks = ranks_of(rating, method, rating.matrix)
    first = min(ranks, key=ranks.__getitem__, default="-")
    counts = (str(len(rating.matrix.pairs)), str(len(rating.scores(method))))
    like = (fixed(None if alike is None else alike.spearman), "-" if alike is None else _same(alike))
    return [name, first, *counts, *like]


def _same(one: RankCorrelation) -> str:
    return percent(dict(one.top).get(_TOP))


def _firmness(made: Portfolio) -> Iterator[Block]:
    """Yield how alike the order is to others, a row each; nothing where there is no other."""
    if rows := [*_correlated(made), *_fewer(made), *_without_one(made)]:
        columns = ("compared", "judges", "Spearman", "Kendall", "same of\ntop 5, %")
        yield Table.of("does the order hold?", columns, rows)
    if any("eip" in (one.x, one.y) for one in made.methods) and made.report.method != "eip":
        yield Bullets(("eip: a rating by which a judge stands high by being right where right is rare",))


def _correlated(made: Portfolio) -> Iterator[list[str]]:
    for one in made.methods:
        if made.report.method in (one.x, one.y):
            yield _correlation(f"{one.x} with {one.y}", one)
    for comparison in made.robustness:
        # the robustness sheet compares by Bradley-Terry and EIP again
        if comparison.group is None and comparison.correlation is not None and "eip" not in comparison.name:
            yield _correlation(comparison.name, comparison.correlation)
    for other in made.against:
        yield _correlation(f"{other.name} with {other.name_against}", other.correlation)
        if other.correlation_without_generators is not None:
            yield _correlation("the same without judges that wrote answers", other.correlation_without_generators)


def _correlation(name: str, one: RankCorrelation) -> list[str]:
    return [name, str(one.judges), fixed(one.spearman), fixed(one.kendall), _same(one)]


def _fewer(made: Portfolio) -> Iterator[list[str]]:
    for one in made.stability:
        if one.group is None and one.fraction in _SHARES:
            name = f"{100 * one.fraction:.0f} % of the matches, {one.draws - one.unrated} of {one.draws} draws"
            yield [name, "", fixed(one.spearman), fixed(one.kendall), percent(one.top5)]


def _without_one(made: Portfolio) -> Iterator[list[str]]:
    known = [(one.spearman, one) for one in made.leave_one_out if one.spearman is not None]
    if known:
        _, one = min(known, key=lambda entry: entry[0])
        judges = str(len(made.leave_one_out) - 1)
        yield [f"without {one.judge}, the worst of all", judges, fixed(one.spearman), fixed(one.kendall), "-"]


def _score_gaps(made: Portfolio) -> Iterator[Block]:
    """Yield how far apart scores put the better and the worse answer, a row a judge and criterion."""
    if not made.score_gaps:
        return
    columns = ("judge", "criterion", "pairs", "gap", "95 %", "gap > 0", "ties", "un-\nscored")
    title = "scores of single answers: the better minus the worse, in points"
    yield Table.of(title, columns, map(_score_gap, made.score_gaps), texts=2)
    told = "gap: mean over pairs, and its interval; gap > 0, ties: per cent of pairs; unscored: lack a score of a side"
    missing = (f"{one.judge} scored both answers of no pair: no gap" for one in made.score_gaps if not one.pairs)
    yield Bullets((told, *missing))


def _score_gap(one: ScoreGap) -> list[str]:
    shares = (percent(count / one.pairs if one.pairs else None) for count in (one.right, one.ties))
    gap = (fixed(one.mean, 2), ends(one.ci95, 2))
    return [one.judge, one.criterion, str(one.pairs), *gap, *shares, str(one.unscored)]


def _not_measured(study: RankStudy, made: Portfolio) -> Iterator[str]:
    if not {"author", "author_b"} <= set(study.decisions.columns):
        yield "self-preference (no columns author, author_b)"
    elif pairwise_criterion(study.decisions) is None:
        yield "self-preference (no criterion is a choice between A and B)"
    # judges that are missing where only judges with Elo can stand
    for name, judges in made.left_out.items():
        yield f"Elo against {name}: without {', '.join(judges)} (no Elo)"
    for one in made.against:
        if one.unrated:
            yield f"{one.name} with {one.name_against}: without {', '.join(one.unrated)} (no Elo in one of them)"
    for name, reason in made.absent.items():
        if name not in _MENTIONED and (name not in _UNASKED or reason != ANALYSES[name].needs):
            yield f"{name.replace('_', ' ')}: {reason}"
    if not made.stability and "stability" not in made.absent:
        yield "class bias, stability, the weight of single judges, robustness: --out does"
