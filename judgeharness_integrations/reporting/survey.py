"""A survey of recorded judges for people: the finding first, then who and how much, as sections and as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, percent, share

from .html.charts import Whisker, whisker
from .measured import rate_text
from .sections import Block, Bullets, Section, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.rates import Rate
    from judgeharness_integrations.analysis.ranking.survey import Certified, OrderOfJudges, Survey, SurveyedJudge

_COLUMNS: Final = (
    "judge",
    "turn with\nthe order, %",
    "one call\nright, %",
    "both orders\nagree, %",
    "right where\nthey agree, %",
)


def survey_finding(found: Survey) -> str:
    """Return what the survey found, in one sentence."""
    turning = [one.flips.value for one in found.judges if one.flips is not None]
    judges = counted(len(found.judges), "judge")
    return (
        f"{percent(found.flips.value)} % of the verdicts of {judges} turn when the answers change "
        f"places: {percent(min(turning))} % of the steadiest judge's, {percent(max(turning))} % of the least "
        "steady one's"
    )


def survey_section(found: Survey) -> Section:
    """Return a survey for people."""
    blocks: list[Block] = [Bullets(tuple(_findings(found))), judges_table(found), certificates_table(found)]
    return Section(title=survey_finding(found), blocks=(*blocks, *survey_notes(found)))


def judges_table(found: Survey) -> Table:
    """Return a row a judge, the steadiest first."""
    rows = (
        (judge.judge, *map(_rate, (judge.flips, judge.one_call, judge.coverage, judge.agreeing)))
        for judge in steadiest_first(found)
    )
    return Table.of("every judge, the steadiest first", _COLUMNS, rows, examples=True)


def certificates_table(found: Survey) -> Table:
    """Return a row for each judge that any draw of labels certifies."""
    heads = [f"{percent(one.agreement)} %" for one in found.certified]
    rows = (
        (judge.judge, *(percent(judge.certified[one.agreement]) for one in found.certified))
        for judge in steadiest_first(found)
        if any(judge.certified.values())
    )
    labels = found.certified[0].labels
    title = f"agreement with people that {labels} labels certify, % of draws in which they do (no other judge in any)"
    return Table.of(title, ("judge", *heads), rows, examples=True)


def steadiest_first(found: Survey) -> list[SurveyedJudge]:
    """Return the judges by how many of their verdicts turn; those never asked in both orders last."""
    return sorted(found.judges, key=lambda one: (one.flips is None, 0 if one.flips is None else one.flips.value))


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "-"
    return f"{share(rate.successes, rate.trials)}\n{ends((rate.low, rate.high), 1, scale=100)}"


def _findings(found: Survey) -> Iterator[str]:
    order = found.order
    yield f"the order: {rate_text(found.flips)} pairs of verdicts, one in each order, differ"
    if found.prompts is not None:
        yield (
            f"the prompt: {rate_text(found.prompts)} pairs of verdicts, given by two prompts of one model on the same "
            "order of answers, differ"
        )
    if order.compared:
        yield from _leaderboard(order)
    yield from _gains(found)
    yield from (_certificates(one, found.pairs) for one in found.certified)
    yield from _controls(found)


def _leaderboard(order: OrderOfJudges) -> Iterator[str]:
    yield (
        f"the leaderboard: in the other order {order.moved} of {order.judges} judges stand elsewhere, and of "
        f"{counted(order.compared, 'pair')} of judges {order.inverted} ({percent(order.inverted / order.compared)} %) "
        "stand the other way round"
    )
    yield (
        f"neighbours on it, in both orders together: {order.apart} of {order.neighbours} differ at p < .05, "
        f"{order.apart_together} when all are tested together (Holm)"
    )
    yield (
        f"significance: of {counted(order.significant, 'difference')} between judges at p < .05 in one order, "
        f"{order.lost} are not significant in the other, and {order.reversed_} point the other way there"
    )


def _gains(found: Survey) -> Iterator[str]:
    agreeing = "" if found.agreeing is None else f"where both orders agree {rate_text(found.agreeing)} verdicts are, "
    yield (
        f"what both orders buy: {rate_text(found.one_call)} single calls are right; {agreeing}and they agree on "
        f"{rate_text(found.coverage)} pairs"
    )


def _certificates(one: Certified, pairs: int) -> str:
    agree = "agrees that often" if one.able == 1 else "agree that often"
    labels = f"{one.labels} labels drawn at random" if one.labels < pairs else f"the labels of all {pairs} pairs"
    return (
        f"certificates: with {labels} {fixed(one.expected, 1)} judges on average "
        f"({one.low} to {one.high} in nine draws of ten) can be certified to agree with people in "
        f"{percent(one.agreement)} % of the pairs on which both their orders agree; over all pairs "
        f"here {one.able} {agree}"
    )


def _controls(found: Survey) -> Iterator[str]:
    first = next(one.controls for one in found.judges if one.controls is not None)
    told = [f"{one.says} {percent(one.value)} %" for one in first.shown if one.value is not None]
    missing = [f"{one.says} not measured" for one in first.shown if one.value is None]
    yield (
        f"judges that read nothing: {', '.join([*told, *missing])}; {len(found.unbeaten)} of {len(found.judges)} "
        "judges are not shown to be better than the best of them with one call"
    )


def survey_notes(found: Survey) -> Iterator[str]:
    """Yield what has to be known of the numbers."""
    yield (
        f"all of {counted(found.pairs, 'labelled pair')}; 95 % intervals in brackets, those over several judges with "
        "the pairs as clusters"
    )
    yield (
        f"a certificate is wrong in {percent(found.delta)} % of draws at most, each by itself: of many judges some may "
        "be certified by luck"
    )
    yield "these rates hold for such pairs and such judges; other pairs and later versions of a model have others"


@dataclass(frozen=True, kw_only=True)
class PicturedModel:
    """A strip of the picture: where each judge of a model stands on an axis from 0 to 100 %, and its first and last."""

    model: str
    judges: Sequence[tuple[str, Whisker]]
    ends: str


def pictured(found: Survey) -> list[PicturedModel]:
    """Return the models, the one with the steadiest judge first."""
    models: dict[str, list[tuple[str, float]]] = {}
    for one in steadiest_first(found):
        if one.flips is not None:
            models.setdefault(one.model, []).append((one.judge, one.flips.value))
    return [
        PicturedModel(
            model=model,
            judges=[(f"{judge}: {percent(value)} %", whisker(value)) for judge, value in judges],
            ends=f"{percent(judges[0][1])} to {percent(judges[-1][1])} %",
        )
        for model, judges in models.items()
    ]


def survey_page(found: Survey, *, source: str) -> str:
    """Return the survey as an HTML document that needs no network and no other file.

    Args:
        found: the survey.
        source: where the verdicts are from.

    """
    from .html.frame import environment, script, style  # noqa: PLC0415 - loads Jinja

    return (
        environment("judgeharness_integrations.reporting")
        .get_template("survey.html")
        .render(
            style=style(),
            script=script(),
            heading=survey_finding(found),
            sections=[("finding", "Finding"), ("picture", "Picture"), ("judges", "Judges"), ("to-know", "To know")],
            source=source,
            findings=list(_findings(found)),
            models=pictured(found),
            tables=[judges_table(found), certificates_table(found)],
            notes=list(survey_notes(found)),
        )
    )
