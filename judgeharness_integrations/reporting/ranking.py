"""A leaderboard for people: who is first, all judges, what they differ in, what they are worth together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Final, TypeAlias

from judgeharness_integrations.analysis.ranking.contrasts import LEVEL, NO_SPREAD
from judgeharness_integrations.analysis.statistics.means import Z95
from judgeharness_integrations.reporting.fragments.rendering import section_html
from judgeharness_integrations.reporting.sections import Block, Bullets, Section, Strong, Table
from judgeharness_integrations.verdictlog.plain import counted, ends, fixed, p_text, percent

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.design import RuleFixed
    from judgeharness_integrations.analysis.ranking.contrasts import Contrast
    from judgeharness_integrations.analysis.ranking.report import JudgeRank, RankReport

_FIRST_JUDGES: Final = 40  # that a leaderboard lists where there are more than it lists all of
_MOST_JUDGES: Final = 50
_MOST_OPENED: Final = 25  # judges of whom everything is shown without being asked for
_MOST_CONTROLS: Final = 6
_MOST_GROUPS: Final = 12  # of which Elo is shown
_GROUPS_BESIDE: Final = 4  # in one table, of names in lines of so many characters
_GROUP_LINE: Final = 12
_AHEAD: Final = 3  # judges that the first is compared with, whatever comes of it
_FEW_CONTRASTS: Final = 6
_POWER: Final = Z95 + 0.8416212335729143  # standard errors that a difference found in 80 % of samples amounts to
_METHODS: Final = {
    "bradley-terry": "Bradley-Terry",
    "conditional": "conditional maximum likelihood",
    "eip": "EIP",
}
_RULES: Final = {"one_order": "right in the order as given", "both_orders": "right in each of the two orders"}
_PLACES: Final = {
    "above": "never wrong where another is right, so that no finite Elo exists",
    "below": "never right where another is wrong, so that no finite Elo exists",
}
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
) -> Section:
    """Return a ranking for people.

    Args:
        report: the ranking.
        source: what was ranked, as the title names it.
        whole: list every judge, however many.
        answers: how many the log holds; None where that is not known any more.
        rule_fixed: whether the rule was chosen before the samples.
        beside: what was analysed besides, shown below the tables.
        not_measured: what else was not.

    """
    return Section(
        title=f"ranking of {source or counted(len(report.judges), 'judge')}",
        blocks=(
            *report.unvaried,
            *report.copies,
            *_answer(report),
            *_leaderboard(report, whole=whole),
            *_contrasts(report),
            *_panels(report),
            *beside,
            *_judges(report),
            *_listed("what it rests on", _rests_on(report, answers, rule_fixed)),
            *_listed("to know", report.diagnostics.sentences()),
            *_listed("not measured", (*_not_measured(report), *not_measured)),
        ),
    )


def rank_fragment(report: RankReport) -> str:
    """Return a ranking as HTML that a notebook shows."""
    return section_html(rank_section(report))


def elo_interval(ci95: tuple[float, float]) -> str:
    """Return an interval of Elo in words; of answers without any spread there is none."""
    low, high = ci95
    return "no interval, for want of any spread" if high - low < NO_SPREAD else f"95 % {ends(ci95, 0)}"


def _listed(title: str, sentences: Iterable[str]) -> Iterator[Section]:
    if lines := tuple(sentences):
        yield Section(title=title, blocks=(Bullets(lines),))


def _answer(report: RankReport) -> Iterator[str]:
    first = [one for one in report.judges if one.rank == 1]
    if not first:
        yield Strong("nobody is ranked: the judges cannot be compared, see below")
        return
    names = ", ".join(one.judge for one in first)
    rated = any((one.elo if report.method != "eip" else one.eip) is not None for one in report.judges)
    by = _METHODS[report.method] if rated else "right of all labelled, since none has a rating"
    yield Strong(f"first of {counted(len(report.judges), 'judge')} by {by}: {names}")
    if standing := _standing(first[0], report.method):
        yield standing
    span = first[0].rank_range
    if span is not None and report.method != "eip":
        others = span[1] - 1
        behind = f"{counted(others, 'other judge')} cannot be told from it"
        yield (
            f"{behind if others else 'every other judge is significantly behind it'}, at a false discovery rate of "
            f"{100 * LEVEL:g} %"
        )


def _standing(one: JudgeRank, method: str) -> str:
    if one.place in _PLACES:
        return _PLACES[one.place]
    if one.elo is None or one.ci95 is None:
        return ""
    right = f"right about {percent(one.right_of_labelled)} % of {counted(one.n, 'pair')}"
    score = f"EIP {one.eip:.3f}; " if method == "eip" and one.eip is not None else ""
    return f"{score}Elo {one.elo:.0f}, {elo_interval(one.ci95)}; {right}"


def _leaderboard(report: RankReport, *, whole: bool) -> Iterator[Block]:
    many = len(report.judges) > _MOST_JUDGES and not whole
    columns: list[_Column] = [
        *_ratings(report),
        ("ranks", lambda one: "-" if one.rank_range is None else "{}-{}".format(*one.rank_range)),
        ("right", lambda one: percent(one.right_of_labelled)),
    ]
    if len({one.n for one in report.judges}) > 1:
        columns.append(("pairs", lambda one: str(one.n)))
    rows = (
        ["-" if one.rank is None else str(one.rank), one.judge, *(cell(one) for _, cell in columns)]
        for one in report.judges[: _FIRST_JUDGES if many else None]
    )
    yield Table.of("leaderboard", ("rank", "judge", *(title for title, _ in columns)), rows, texts=2)
    if many:
        rest = len(report.judges) - _FIRST_JUDGES
        yield f"and {rest} more: --all lists them, --json and leaderboard.csv of --out hold them"
    yield Bullets((*_legend(report), *_controls(report)))


def _ratings(report: RankReport) -> list[_Column]:
    elo: list[_Column] = [
        ("Elo", lambda one: one.place if one.elo is None else fixed(one.elo, 0)),
        ("± 95 %", lambda one: _margin(one.se)),
    ]
    if report.method == "conditional":
        return elo
    elo += [
        ("cond.", lambda one: fixed(one.elo_conditional, 0)),
        ("± 95 %", lambda one: _margin(one.se_conditional)),
    ]
    return [("EIP", lambda one: fixed(one.eip)), *elo] if report.method == "eip" else elo


def _margin(se: float | None) -> str:
    return "-" if se is None or se < NO_SPREAD else fixed(Z95 * se, 0)


def _legend(report: RankReport) -> Iterator[str]:
    by = "; EIP has no errors: those are Bradley-Terry's" if report.method == "eip" else ""
    cond = "" if report.method == "conditional" else "; cond.: by conditional maximum likelihood"
    yield f"Elo: judges' mean 1500{cond}{by}"
    if report.method == "eip":
        yield "EIP: a score, not Elo; a judge has a high one by being right where right is rare"
    asked = {one.n for one in report.judges}
    of = counted(next(iter(asked)), "pair") if len(asked) == 1 else "the pairs asked about"
    yield f"ranks: those that no significant difference speaks against; right: per cent of {of}"


def _controls(report: RankReport) -> Iterator[str]:
    lines = list(report.controls())
    yield from lines[:_MOST_CONTROLS]
    if (more := len(lines) - _MOST_CONTROLS) > 0:
        verb = "is" if more == 1 else "are"
        yield f"and {counted(more, 'more judge')} that {verb} not better than the best control"


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
    """Yield what is known of judges beside their ranks, folded away where they are many."""
    blocks = (*_measures(report), *_groups(report))
    if blocks:
        folded = len(report.judges) > _MOST_OPENED
        yield Section(title="each judge beside its rank", blocks=blocks, folded=folded)


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
    ("money,\n1000 pairs", lambda one: fixed(None if one.measures.cost is None else 1000 * one.measures.cost, 2)),
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
    return f"{counted(report.n_pairs_total, 'pair')} with gold{taken} = {report.n_pairs:,} ranked by{unlabelled}"


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
