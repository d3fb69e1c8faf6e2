"""A leaderboard for people: who is first, all judges, what they differ in, and what is analysed beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Final, TypeAlias

from judgeharness_integrations.analysis.ranking.analyses import ANALYSES, Portfolio
from judgeharness_integrations.analysis.ranking.contrasts import NO_SPREAD, Contrast
from judgeharness_integrations.analysis.ranking.judgetable import answer_key, pairwise_criterion
from judgeharness_integrations.analysis.ranking.rating import Method, Rating, ranks_of
from judgeharness_integrations.analysis.statistics.means import Z95
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, listed, p_text, percent

from .fragments import section_html
from .rankpage import THOUSAND, elo_interval, rank_finding
from .sections import Block, Bullets, Section, Strong, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.design import RuleFixed
    from judgeharness_integrations.analysis.ranking.comparing import RankCorrelation
    from judgeharness_integrations.analysis.ranking.pointwise import ScoreGap
    from judgeharness_integrations.analysis.ranking.rating import JudgeRank, RankReport
    from judgeharness_integrations.analysis.ranking.studying import RankStudy

_FIRST_JUDGES: Final = 40  # that a leaderboard lists where there are more than it lists all of
_MOST_JUDGES: Final = 50
_MOST_GROUPS: Final = 12  # of which Elo is shown
_GROUPS_BESIDE: Final = 4  # in one table, of names in lines of so many characters
_GROUP_LINE: Final = 12
_AHEAD: Final = 3  # judges that the first is compared with, whatever comes of it
_FEW_CONTRASTS: Final = 6
_POWER: Final = Z95 + 0.8416212335729143  # standard errors that a difference found in 80 % of samples amounts to
_MOST_CONTROLS: Final = 3  # judges of which it is told how they compare with the best control
_RULES: Final = {"one_order": "right in the order as given", "both_orders": "right in each of the two orders"}
_Column: TypeAlias = "tuple[str, Callable[[JudgeRank], str]]"


def rank_section(
    report: RankReport,
    *,
    source: str = "",
    whole: bool = False,
    answers: int | None = None,
    rule_fixed: RuleFixed | None = None,
    beside: Iterable[Block] = (),
    not_measured: Sequence[str] = (),
    following: str = "",
    asked: bool = False,
) -> Section:
    """Return a ranking for people: who is first and what to buy, the leaderboard, and folded all that is beside it.

    Args:
        report: the ranking.
        source: what was ranked, as the title names it.
        whole: list every judge, however many.
        answers: how many the log holds; None where that is not known any more.
        rule_fixed: whether the rule was chosen before the samples.
        beside: what was analysed besides, shown below the tables.
        not_measured: what else was not.
        following: the command that comes next.
        asked: whether what was analysed besides was asked for, and is not folded.

    """
    found = rank_finding(report, following=following)
    rests = tuple(_rests_on(report, answers, rule_fixed))
    return Section(
        title=found.answer,
        blocks=(
            *map(Strong, (*report.unvaried, *report.copies, *report.apart)),
            *found.opening(),
            *_leaderboard(report, whole=whole),
            Section(
                title=f"ranking of {source or counted(len(report.judges), 'judge')}",
                blocks=(Bullets(rests[:_RESTS]),),
            ),
            *_folded("differences", _contrasts(report)),
            *_folded("several judges together", _panels(report)),
            *_folded("beside the ranking", beside, folded=not asked),
            *_judges(report),
            *_folded("right beside judges that read nothing", map(_bullet, report.controls())),
            *_folded("more that it rests on", map(_bullet, rests[_RESTS:])),
            *_folded("to know", map(_bullet, report.diagnostics.sentences())),
            *_folded("not measured", map(_bullet, (*_not_measured(report), *not_measured))),
        ),
    )


_RESTS: Final = 2  # sentences that are shown of what a ranking rests on


def _bullet(sentence: str) -> Bullets:
    return Bullets((sentence,))


def _folded(title: str, blocks: Iterable[Block], *, folded: bool = True) -> Iterator[Section]:
    if found := tuple(blocks):
        yield Section(title=title, blocks=found, folded=folded)


def rank_fragment(report: RankReport) -> str:
    """Return a ranking as HTML that a notebook shows."""
    return section_html(rank_section(report))


def _leaderboard(report: RankReport, *, whole: bool) -> Iterator[Block]:
    many = len(report.judges) > _MOST_JUDGES and not whole
    columns: list[_Column] = [
        *_ratings(report, whole=whole),
        ("ranks", lambda one: "-" if one.rank_range is None else "{}-{}".format(*one.rank_range)),
        ("right", lambda one: percent(one.right_of_labelled)),
    ]
    if len({one.n for one in report.judges}) > 1:
        columns.append(("pairs", lambda one: str(one.n)))
    if any(one.measures.cost is not None for one in report.judges):
        columns.append(_MONEY)
    rows = (
        ["-" if one.rank is None else str(one.rank), one.judge, *(cell(one) for _, cell in columns)]
        for one in report.judges[: _FIRST_JUDGES if many else None]
    )
    yield Table.of("leaderboard", ("rank", "judge", *(title for title, _ in columns)), rows, texts=2)
    if many:
        rest = len(report.judges) - _FIRST_JUDGES
        yield f"and {rest} more: --all lists them, --json and leaderboard.csv of --out hold them"
    yield Bullets((*_legend(report, whole=whole), *_controls(report)))


_MONEY: Final[_Column] = (
    "money,\n1000 pairs",
    lambda one: fixed(None if one.measures.cost is None else THOUSAND * one.measures.cost, 2),
)


def _ratings(report: RankReport, *, whole: bool) -> list[_Column]:
    elo: list[_Column] = [
        ("Elo", lambda one: one.place if one.elo is None else fixed(one.elo, 0)),
        ("± 95 %", lambda one: _margin(one.se)),
    ]
    if whole and report.method != "conditional":
        elo += [
            ("cond.", lambda one: fixed(one.elo_conditional, 0)),
            ("± 95 %", lambda one: _margin(one.se_conditional)),
        ]
    return [("EIP", lambda one: fixed(one.eip)), *elo] if report.method == "eip" else elo


def _margin(se: float | None) -> str:
    return "-" if se is None or se < NO_SPREAD else fixed(Z95 * se, 0)


def _legend(report: RankReport, *, whole: bool) -> Iterator[str]:
    by = "; EIP has no errors: those are Bradley-Terry's" if report.method == "eip" else ""
    cond = "; cond.: by conditional maximum likelihood" if whole and report.method != "conditional" else ""
    yield f"Elo: judges' mean 1500{cond}{by}"
    if report.method == "eip":
        yield "EIP: a score, not Elo; a judge has a high one by being right where right is rare"
    asked = {one.n for one in report.judges}
    of = counted(next(iter(asked)), "pair") if len(asked) == 1 else "the pairs asked about"
    yield f"ranks: the places that no significant difference rules out; right: per cent of {of}"


def _controls(report: RankReport) -> Iterator[str]:
    """Yield what judges that read nothing get right, and who is not better than the best of them, by name."""
    lines = list(report.controls())
    if len(lines) - 1 <= _MOST_CONTROLS:
        yield from lines
        return
    yield from lines[:1]
    names = [one.judge for one in report.judges if one.controls is not None and not one.controls.beaten]
    yield f"not shown to be better than the best judge that reads nothing: {listed(names)}"


def _contrasts(report: RankReport) -> Iterator[Block]:
    """Yield the differences that decide: all of few, else the first judge's with the next and with whom it beats."""
    if not report.contrasts:
        return
    significant = sum(one.significant for one in report.contrasts)
    of = "Bradley-Terry differences" if report.method == "eip" else "differences"
    yield Table.of(
        f"{of} in Elo, {significant} of {len(report.contrasts)} significant",
        ("judge", "minus", "Elo", "95 %", "p", "findable"),
        map(_contrast, _decisive(report.contrasts)),
        texts=2,
    )
    yield Bullets(("p: adjusted for all differences; findable: with a power of 80 %, before adjustment",))


def _contrast(one: Contrast) -> list[str]:
    untested = one.p is None
    findable = "" if one.significant else fixed(None if untested else _POWER * one.se, 0)
    interval = ends(None if untested else one.ci95, 0)
    return [one.judge, one.other, fixed(one.difference, 0), interval, p_text(one.p_adjusted), findable]


def _decisive(contrasts: Sequence[Contrast]) -> Sequence[Contrast]:
    if len(contrasts) <= _FEW_CONTRASTS:
        return contrasts
    mine = [one for one in contrasts if one.judge == contrasts[0].judge]
    beaten = next((place for place, one in enumerate(mine) if one.significant), None)
    return mine[:_AHEAD] if beaten is None or beaten < _AHEAD else [*mine[:_AHEAD], mine[beaten]]


def _panels(report: RankReport) -> Iterator[Block]:
    """Yield how independently judges err, and what their majority reaches, a row a panel."""
    if not report.panels:
        return
    every = len(report.panels[-1].judges)
    columns = ("judges", "pairs", "phi", "95 %", "worth", "major-\nity", "95 %", "if inde-\npendent", "best\nalone")
    rows = (
        [
            f"all {every}" if len(one.judges) == every else f"best {len(one.judges)}",
            str(one.pairs),
            fixed(one.correlation, 2),
            ends(one.correlation_ci95, 2),
            fixed(one.effective, 1),
            percent(one.majority),
            ends(one.majority_ci95, 1, scale=100),
            percent(one.independent),
            percent(one.best),
        ]
        for one in report.panels
    )
    yield Table.of("several judges together, in per cent of pairs asked of each", columns, rows)
    yield Bullets(tuple(_panel_notes(report)))


def _panel_notes(report: RankReport) -> Iterator[str]:
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
    if alike := sorted({name for one in report.panels for name in one.alike}):
        yield f"without phi, since they are right, or wrong, in too few pairs: {', '.join(alike)}"


def _judges(report: RankReport) -> Iterator[Section]:
    """Yield what is known of judges beside their ranks."""
    yield from _folded("each judge beside its rank", (*_measures(report), *_groups(report)))


_SHARES: Final[tuple[_Column, ...]] = (
    ("consis-\ntency", lambda one: percent(one.measures.consistency)),
    ("first\nslot", lambda one: percent(one.measures.first_slot_rate)),
    ("prefers\nlonger", lambda one: percent(one.measures.prefers_longer)),
    ("better is\nlonger", lambda one: percent(one.measures.better_longer)),
    ("like the\nothers", lambda one: percent(one.measures.agreement_with_judges)),
    ("agree-\nment", lambda one: percent(one.measures.agreement)),
)
_USE: Final[tuple[_Column, ...]] = (
    ("published\nElo", lambda one: fixed(one.elo_published, 0)),
    ("answers\nfailed", lambda one: str(one.measures.failed)),
    ("un-\nparsed", lambda one: str(one.measures.unparsed)),
    ("tokens\na pair", lambda one: fixed(one.measures.tokens, 0)),
)


def _measures(report: RankReport) -> Iterator[Block]:
    for title, columns in (("judges, in per cent", _SHARES), ("published scale, answers and use", _USE)):
        if shown := tuple(_telling(report, columns)):
            rows = ([one.judge, *(cell(one) for _, cell in shown)] for one in report.judges)
            yield Table.of(title, ("judge", *(name for name, _ in shown)), rows)
    if notes := tuple(_measure_notes(report)):
        yield Bullets(notes)


def _measure_notes(report: RankReport) -> Iterator[str]:
    if any(one.measures.better_longer is not None for one in report.judges):
        yield "better is longer: how often the better answer is the longer one in the same pairs"
    if any(one.elo_published is not None for one in report.judges):
        yield "published: the same Elo on the scale of published tables (mean strength of judges and pairs 1)"


def _telling(report: RankReport, columns: Iterable[_Column]) -> Iterator[_Column]:
    """Yield the columns that tell something, none that says what another has said."""
    told: set[tuple[str, ...]] = set()
    for title, cell in columns:
        cells = tuple(map(cell, report.judges))
        if cells not in told and set(cells) - {"-", "0"}:
            told.add(cells)
            yield title, cell


def _groups(report: RankReport) -> Iterator[Block]:
    """Yield each judge's Elo, or EIP, in each group of pairs; of very many groups, where it stands."""
    names = list(dict.fromkeys(name for one in report.judges for name in one.groups))
    score, digits = ("EIP", 3) if report.method == "eip" else ("Elo", 0)
    if len(names) > _MOST_GROUPS:
        yield f"{score} by {report.by}: {len(names)} groups, in --json and leaderboard.csv of --out"
        return
    for start in range(0, len(names), _GROUPS_BESIDE):
        shown = names[start : start + _GROUPS_BESIDE]
        title = f"{score} by {report.by}{', continued' if start else ''}"
        rows = ([one.judge, *(fixed(one.groups.get(name), digits) for name in shown)] for one in report.judges)
        yield Table.of(title, ("judge", *(fill(name, _GROUP_LINE) for name in shown)), rows)


_CHOSEN: Final = {
    None: "",
    "before": "; rule chosen before the samples",
    "after": "; rule chosen after the samples: exploratory",
}


def _rests_on(report: RankReport, answers: int | None, rule_fixed: RuleFixed | None) -> Iterator[str]:
    criteria = ", ".join(report.criteria)
    rule = f"{report.rule} ({_RULES[report.rule]})" if report.rule in _RULES else f"the decision of {report.rule}"
    yield f"right about {criteria}: {rule}; failures {report.failures}, ties {report.ties}{_CHOSEN[rule_fixed]}"
    yield _pairs(report)
    facts = report.diagnostics
    clusters = "pair" if facts.cluster is None else facts.cluster
    failed, unparsed = (sum(getattr(one.measures, name) for one in report.judges) for name in ("failed", "unparsed"))
    lost = counted(failed, "answer") if answers is None else f"{failed:,} of {counted(answers, 'answer')}"
    yield (
        f"{facts.cells:,} of {counted(facts.cells_total, 'judge-pair cell')}; {lost} failed "
        f"({unparsed:,} unparsed); errors clustered by {clusters} ({counted(facts.clusters, 'cluster')})"
    )
    if (effect := facts.order_effect) is not None:
        yield (
            f"showing the better answer first is worth {effect.elo:.0f} Elo ({elo_interval(effect.ci95)}, p "
            f"{p_text(effect.p)}; {counted(effect.matches, 'verdict')}, one a judge, pair and order, on "
            f"{counted(effect.pairs, 'pair')})"
        )


def _pairs(report: RankReport) -> str:
    """Return what became of the pairs, steps that took none left out."""
    steps = (
        (report.n_flagged, "flagged"),
        (report.n_unanimous, "unanimous"),
        (report.n_unanswered, "without an answer that counts"),
        (report.n_cut, "cut as the hardest"),
    )
    taken = "".join(f" - {count:,} {name}" for count, name in steps if count)
    if report.cut:
        taken += f"{'' if report.n_cut else ' - 0 cut as the hardest'} (--cut {report.cut:g}, ties {report.cut_ties})"
    unlabelled = f"; {report.n_unlabelled:,} without a gold label" if report.n_unlabelled else ""
    return f"{counted(report.n_pairs_total, 'pair')} with gold{taken} = {report.n_pairs:,} in the ranking{unlabelled}"


_MEASURED: Final = (
    ("prefers_longer", "whether longer answers are preferred (no columns length_a, length_b)"),
    ("tokens", "tokens"),
    ("cost", "money (tokens, and prices in --judges-info)"),
    ("agreement", "agreement of samples"),
)


def _not_measured(report: RankReport) -> Iterator[str]:
    if report.diagnostics.order_effect is None:
        yield "what it is worth that the better answer is shown first"
    if missing := [
        title for name, title in _MEASURED if all(getattr(one.measures, name) is None for one in report.judges)
    ]:
        yield ", ".join(missing)
    for one in report.judges:
        yield from (f"money of {one.judge}: {remark}" for remark in one.measures.cost_remarks)


_GROUP_SHARES: Final = (0.1, 0.5)  # of the matches
_TOP: Final = 5
_MENTIONED: Final = ("tokens", "money", "self_preference")
_UNASKED: Final = ("groups", "against", "score_gaps", "audit")  # nobody misses what was not asked for


def analysed_section(
    study: RankStudy, made: Portfolio, *, source: str, rule_fixed: RuleFixed, whole: bool = False, following: str = ""
) -> Section:
    """Return a ranking and what was analysed beside it for people.

    Args:
        study: what was ranked.
        made: what came out.
        source: what was ranked, as the title names it.
        rule_fixed: whether the rule was chosen before the samples.
        whole: list every judge, however many.
        following: the command that comes next.

    """
    return rank_section(
        made.report,
        following=following,
        asked=bool(study.groups or made.against or made.score_gaps),
        source=source,
        whole=whole,
        answers=len({answer_key(row) for row in study.rows}),
        rule_fixed=rule_fixed,
        beside=(*_analysis_groups(study, made), *_firmness(made), *_score_gaps(made)),
        not_measured=tuple(_not_analysed(study, made)),
    )


def _analysis_groups(study: RankStudy, made: Portfolio) -> Iterator[Table]:
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
        if one.group is None and one.fraction in _GROUP_SHARES:
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


def _not_analysed(study: RankStudy, made: Portfolio) -> Iterator[str]:
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
