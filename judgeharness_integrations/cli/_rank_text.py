"""A ranking as text: the answer, the leaderboard, what it rests on, how firm it is, what was not measured."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.ranking.analyses import ANALYSES, Portfolio
from judgeharness_integrations.analysis.ranking.contrasts import LEVEL, NO_SPREAD
from judgeharness_integrations.analysis.ranking.judgetable import answer_key, pairwise_criterion
from judgeharness_integrations.analysis.ranking.report import JudgeRank, RankReport
from judgeharness_integrations.analysis.ranking.studying import RankStudy
from judgeharness_integrations.cli._rank_tables import (
    FIRST_JUDGES,
    METHOD_TITLES,
    MOST_JUDGES,
    contrast_table,
    firmness_table,
    group_table,
    judge_table,
    leaderboard_table,
    longer_note,
    panel_notes,
    panel_table,
    score_gap_notes,
    score_gap_table,
)
from judgeharness_integrations.reporting.terminal import safe
from judgeharness_integrations.verdictlog.plain import counted, p_text, percent, safe_text

__all__ = ["rank_text"]

_LONGEST = 600
_MOST_CONTROLS = 6
_RULES: Final = {"one_order": "right in the order as given", "both_orders": "right in each of the two orders"}
_PLACES: Final = {
    "above": "never wrong where another is right, so that no finite Elo exists",
    "below": "never right where another is wrong, so that no finite Elo exists",
}


def rank_text(
    found: RankStudy, made: Portfolio, *, width: int, whole: bool = False, rule_fixed: RuleFixed = "after"
) -> Iterator[RenderableType]:
    """Yield the parts of a report.

    Args:
        found: what was ranked.
        made: what came out.
        width: of the terminal, in characters.
        whole: list all judges, however many.
        rule_fixed: whether the rule was chosen before the samples.

    """
    report = made.report
    yield from (safe_text(line, _LONGEST) for line in (*report.unvaried, *report.copies))
    yield from _answer(report)
    yield leaderboard_table(report, width=width, whole=whole)
    if len(report.judges) > MOST_JUDGES and not whole:
        rest = len(report.judges) - FIRST_JUDGES
        yield f"and {rest} more: --all lists them, --json and leaderboard.csv of --out hold them"
    yield from _told(_legend(report), width)
    yield from _told(_controls(report), width)
    if report.contrasts:
        yield contrast_table(report)
        yield "- p: adjusted for all differences; findable: with a power of 80 %, before adjustment"
    if found.groups:
        yield group_table(found, made)
    beside = judge_table(report, width=width)
    yield from filter(None, (beside, beside and longer_note(report), firmness_table(made)))
    if report.panels:
        yield panel_table(report)
        yield from _told(panel_notes(report), width)
    if made.score_gaps:
        yield score_gap_table(made)
        yield from _told(score_gap_notes(made), width)
    if any("eip" in (one.x, one.y) for one in made.methods) and report.method != "eip":
        yield "- eip: a rating by which a judge stands high by being right where right is rare"
    for title, lines in (
        ("what it rests on", _rests_on(found, report, rule_fixed)),
        ("to know", report.diagnostics.sentences()),
        ("not measured", _not_measured(found, made)),
    ):
        listed = [part for line in lines for part in _told([line], width)]
        if listed:
            yield Text(f"\n{title}", style="bold")
            yield from listed


def _told(sentences: Iterable[str], width: int) -> Iterator[Text]:
    for sentence in sentences:
        line = safe(f"- {sentence}", _LONGEST).plain
        yield Text(textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False))


def _answer(report: RankReport) -> Iterator[RenderableType]:
    first = [one for one in report.judges if one.rank == 1]
    if not first:
        yield "nobody is ranked: the judges cannot be compared, see below"
        return
    names = ", ".join(one.judge for one in first)
    rated = any((one.elo if report.method != "eip" else one.eip) is not None for one in report.judges)
    by = METHOD_TITLES[report.method] if rated else "right of all labelled, since none has a rating"
    yield safe(f"first of {counted(len(report.judges), 'judge')} by {by}: {names}", 400)
    standing = _standing(first[0], report.method)
    if standing:
        yield standing
    span = first[0].rank_range
    if span is not None and report.method != "eip":
        others = span[1] - 1
        judges = "other judge" if others == 1 else "other judges"
        told = f"{others} {judges} cannot be told from it" if others else "every other judge is significantly behind it"
        yield f"{told}, at a false discovery rate of {100 * LEVEL:g} %"


def _standing(one: JudgeRank, method: str) -> str:
    if one.place in _PLACES:
        return _PLACES[one.place]
    if one.elo is None or one.ci95 is None:
        return ""
    right = f"right about {percent(one.right_of_labelled)} % of {counted(one.n, 'pair')}"
    score = f"EIP {one.eip:.3f}; " if method == "eip" and one.eip is not None else ""
    return f"{score}Elo {one.elo:.0f}, {_interval(one.ci95)}; {right}"


def _interval(ci95: tuple[float, float]) -> str:
    low, high = ci95
    return "no interval, for want of any spread" if high - low < NO_SPREAD else f"95 % {low:.0f} to {high:.0f}"


def _controls(report: RankReport) -> Iterator[str]:
    listed = list(report.controls())
    yield from listed[:_MOST_CONTROLS]
    if len(listed) > _MOST_CONTROLS:
        yield f"and {len(listed) - _MOST_CONTROLS} more judges that are not better than the best control"


def _legend(report: RankReport) -> Iterator[str]:
    by = "; EIP has no errors: those are Bradley-Terry's" if report.method == "eip" else ""
    cond = "" if report.method == "conditional" else "; cond.: by conditional maximum likelihood"
    yield f"Elo: judges' mean 1500{cond}{by}"
    if report.method == "eip":
        yield "EIP: a score, not Elo; a judge has a high one by being right where right is rare"
    yield "published: the same Elo on the scale of published tables (mean strength of judges and pairs 1)"
    asked = {one.n for one in report.judges}
    of = counted(next(iter(asked)), "pair") if len(asked) == 1 else "the pairs asked about"
    yield f"ranks: those that no significant difference speaks against; right: per cent of {of}"


def _rests_on(found: RankStudy, report: RankReport, rule_fixed: RuleFixed) -> Iterator[str]:
    criteria = ", ".join(report.criteria)
    rule = f"{report.rule} ({_RULES[report.rule]})" if report.rule in _RULES else f"the decision of {report.rule}"
    chosen = "before the samples" if rule_fixed == "before" else "after the samples: exploratory"
    yield f"right about {criteria}: {rule}; failures {report.failures}, ties {report.ties}; rule chosen {chosen}"
    yield _pairs(report)
    facts = report.diagnostics
    clusters = "pair" if facts.cluster is None else facts.cluster
    answers = len({answer_key(row) for row in found.rows})
    failed, unparsed = (sum(getattr(one.measures, name) for one in report.judges) for name in ("failed", "unparsed"))
    yield (
        f"{facts.cells:,} of {counted(facts.cells_total, 'judge-pair cell')}; {failed:,} of "
        f"{counted(answers, 'answer')} failed ({unparsed:,} unparsed); errors clustered by {clusters} "
        f"({counted(facts.clusters, 'cluster')})"
    )
    effect = facts.order_effect
    if effect is not None:
        p = f"p {p_text(effect.p)}"
        yield (
            f"showing the better answer first is worth {effect.elo:.0f} Elo ({_interval(effect.ci95)}, {p}; "
            f"{counted(effect.matches, 'verdict')}, one a judge, pair and order, on "
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


def _not_measured(found: RankStudy, made: Portfolio) -> Iterator[str]:
    report = made.report
    if report.diagnostics.order_effect is None:
        yield "what it is worth that the better answer is shown first"
    missing = [
        name
        for name, measure in (
            ("whether longer answers are preferred (no columns length_a, length_b)", "prefers_longer"),
            ("tokens", "tokens"),
            ("money (tokens, and prices in --judges-info)", "cost"),
            ("agreement of samples", "agreement"),
        )
        if all(getattr(one.measures, measure) is None for one in report.judges)
    ]
    if missing:
        yield ", ".join(missing)
    for one in report.judges:
        yield from (f"money of {safe_text(one.judge)}: {remark}" for remark in one.measures.cost_remarks)
    if not {"author", "author_b"} <= set(found.decisions.columns):
        yield "self-preference (no columns author, author_b)"
    elif pairwise_criterion(found.decisions) is None:
        yield "self-preference (no criterion is a choice between A and B)"
    yield from _left_out(made)
    for name, reason in made.absent.items():
        if name not in _SAID and (name not in _UNASKED or reason != ANALYSES[name].needs):
            yield f"{name.replace('_', ' ')}: {reason}"
    if not made.stability and "stability" not in made.absent:
        yield "class bias, stability, the weight of single judges, robustness: --out does"


def _left_out(made: Portfolio) -> Iterator[str]:
    """Yield which judges are missing where only judges with Elo can stand."""
    for name, judges in made.left_out.items():
        yield f"Elo against {name}: without {', '.join(judges)} (no Elo)"
    for one in made.against:
        if one.unrated:
            yield f"{one.name} with {one.name_against}: without {', '.join(one.unrated)} (no Elo in one of them)"


_SAID: Final = ("tokens", "money", "self_preference")
_UNASKED: Final = ("groups", "against", "score_gaps", "audit")  # nobody misses what was not asked for
