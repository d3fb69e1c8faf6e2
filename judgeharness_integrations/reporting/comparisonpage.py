"""A comparison as one HTML page that needs no network and no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from judgeharness_integrations.analysis.comparison.pairing import NOT_GRADED, State
from judgeharness_integrations.analysis.comparison.report import (
    Answer,
    ComparisonReport,
    CriterionComparison,
    Flip,
    difference_text,
    measure_text,
    shares,
    value_text,
)
from judgeharness_integrations.verdictlog.encoding import p_text

from .comparison import caveats, comparison_finding, details, differences, titled
from .html.charts import FIELDS, Bar, Tones, Whisker, bar, decision_word, whisker
from .text import rationale

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.comparison.difference import Difference
    from judgeharness_integrations.analysis.result import Distribution, HarnessResult
    from judgeharness_integrations.verdictlog.row import Verdict


_TONES: Final[Mapping[Answer, str]] = {
    "worse": "answer-no",
    "better": "answer-yes",
    "different": "answer-no",
    "flips more than noise": "answer-no",
    "cannot tell": "answer-unmeasured",
    "no difference found": "",
}
_MOVES: Final = {"higher score": "first", "lower score": "second", "same score": "abstain"}


@dataclass(frozen=True, kw_only=True)
class ChangeRow:
    """One difference: its texts, and its interval on an axis whose middle is no change."""

    name: str
    tested: bool
    before: str
    after: str
    change: str
    n: int
    p: str
    whisker: Whisker | None


@dataclass(frozen=True, kw_only=True)
class NamedBar:
    """A bar with its heading."""

    name: str
    bar: Bar


@dataclass(frozen=True, kw_only=True)
class FlipText:
    """A text of a flipped case, or two that are to be compared word by word: answers A and B, or before and after."""

    name: str
    text: str
    other_name: str = ""
    other: str = ""


@dataclass(frozen=True, kw_only=True)
class FlipRow:
    """A flipped case with the samples of both sides, a reason of each, and what was judged."""

    case: str
    before: str
    after: str
    before_tone: str
    after_tone: str
    samples_before: Bar
    samples_after: Bar
    gold: str
    p: str
    anchor: str
    reasons: tuple[str, str]
    texts: tuple[FlipText, ...]


@dataclass(frozen=True, kw_only=True)
class Card:
    """One criterion of one judge."""

    title: str
    answer: Answer
    tone: str
    reason: str
    changes: tuple[ChangeRow, ...]
    bars: tuple[NamedBar, ...]
    flips: tuple[FlipRow, ...]
    ordered: bool
    gold: bool
    details: tuple[str, ...]


def criterion_card(one: CriterionComparison) -> Card:
    """Return what the page shows of a criterion."""
    tones = _tones(one)
    return Card(
        title=titled(one),
        answer=one.answer,
        tone=_TONES[one.answer],
        reason=one.reason,
        changes=tuple(_changes(one)),
        bars=tuple(_bars(one, tones)),
        flips=tuple(_flip(one, flip, tones) for flip in one.flips),
        ordered=any(flip.p is not None for flip in one.flips),
        gold=any(flip.gold is not None for flip in one.flips),
        details=tuple(details(one)),
    )


@dataclass(frozen=True)
class _Seen:
    """What colours are chosen by: the verdicts of a criterion."""

    criteria: Mapping[str, Any]
    sample_distribution: Mapping[Verdict, int]
    verdict: Verdict | None = None


def _tones(one: CriterionComparison) -> Tones:
    seen = [_Seen({}, flip.before_distribution) for flip in one.flips]
    seen += [_Seen({}, flip.after_distribution) for flip in one.flips]
    seen += [_Seen({}, {}, state.verdict) for flip in one.flips for state in (flip.before, flip.after)]
    if one.kind == "labels":
        seen += [_Seen({}, {}, text) for move in one.transitions for text in (move.before, move.after)]
    return Tones(cast("Iterable[HarnessResult]", [_Seen({one.criterion: criterion}, {}) for criterion in seen]))


def _changes(one: CriterionComparison) -> Iterator[ChangeRow]:
    every = [*([] if one.main is None else [one.main]), *one.beside]
    for place, found in enumerate(every):
        alike = [other for other in every if shares(other) is shares(found)]
        yield ChangeRow(
            name=measure_text(found),
            tested=place == 0 and one.main is not None,
            before=value_text(found, found.before),
            after=value_text(found, found.after),
            change=difference_text(found),
            n=found.n,
            p=p_text(found.p),
            whisker=_whisker(found, _reach(alike)),
        )


def _reach(found: Sequence[Difference]) -> float:
    """Return how far the axis goes in either direction, the same for everything in one unit."""
    ends = [abs(value) for one in found for value in (one.low, one.high, one.difference) if value is not None]
    return max(ends, default=0.0) or 1.0


def _whisker(found: Difference, reach: float) -> Whisker | None:
    if found.difference is None:
        return None
    return whisker(found.difference, found.low, found.high, mark=0.0, axis=(-reach, reach))


def _bars(one: CriterionComparison, tones: Tones) -> Iterator[NamedBar]:
    if one.kind == "numbers":
        moves = Counter(dict[str, int]())
        for move in one.transitions:
            word = move.after if move.before == "score" else f"{move.before} -> {move.after}"
            moves[word] += move.count
        parts = [(word, count, _MOVES.get(word, "ungraded")) for word, count in moves.most_common()]
        yield NamedBar(name="Scores of both runs", bar=bar(parts))
    elif one.kind == "labels":
        for side, name in (("before", "Decisions before"), ("after", "Decisions after")):
            counts = Counter(dict[str, int]())
            for move in one.transitions:
                counts[getattr(move, side)] += move.count
            yield NamedBar(name=name, bar=bar((w, n, _tone(tones, one, w)) for w, n in sorted(counts.items())))


def _tone(tones: Tones, one: CriterionComparison, word: str) -> str:
    return tones.of(one.criterion, None if word == NOT_GRADED else word)


def _word(state: State) -> str:
    return f"{state.verdict:.4g}" if isinstance(state.verdict, float) else str(state)


def _flip(one: CriterionComparison, flip: Flip, tones: Tones) -> FlipRow:
    def of(verdict: Verdict | None) -> str:
        return tones.of(one.criterion, verdict)

    def samples(found: Distribution) -> Bar:
        return bar((decision_word(verdict), count, of(verdict)) for verdict, count in found.items())

    return FlipRow(
        case=flip.case_id,
        before=_word(flip.before),
        after=_word(flip.after),
        before_tone=of(flip.before.verdict),
        after_tone=of(flip.after.verdict),
        samples_before=samples(flip.before_distribution),
        samples_after=samples(flip.after_distribution),
        gold="-" if flip.gold is None else decision_word(flip.gold),
        p=p_text(flip.p),
        anchor=f"case-{quote(flip.case_id, safe='', errors='surrogatepass')}",
        reasons=_reasons(one, flip),
        texts=tuple(_texts(*flip.texts)),
    )


def _reasons(one: CriterionComparison, flip: Flip) -> tuple[str, str]:
    """Return a reason for the decision of each side, as far as the log keeps one."""
    if flip.results is None:
        return "", ""
    rows = [rationale(result, one.criterion) for result in flip.results]
    first, second = ("" if row is None else row.reasoning or row.raw or "" for row in rows)
    return first, second


def _texts(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[FlipText]:
    """Yield what was judged: one by one where it is the same, before beside after where it changed."""
    pair = before == after and bool(before.get("output")) and bool(before.get("output_b"))
    for name in dict.fromkeys((*before, *after)):
        first, second = before.get(name, ""), after.get(name, "")
        word = FIELDS.get(name, name)
        if pair and name in ("output", "output_b"):
            if name == "output":
                yield FlipText(name="Answer A", text=first, other_name="Answer B", other=before["output_b"])
        elif first == second:
            yield FlipText(name=word, text=first)
        else:
            yield FlipText(name=f"{word}, before", text=first, other_name=f"{word}, after", other=second)


_HERE: Final = "judgeharness_integrations.reporting"


def comparison_page(report: ComparisonReport) -> str:
    """Return the whole comparison as an HTML document, all flips included.

    Every text of cases, judges and files is escaped, and a policy in the page allows its own style and script alone.
    """
    from .html.frame import environment, script, style  # noqa: PLC0415 - loads Jinja

    found = comparison_finding(report)
    cards = [criterion_card(one) for one in report.criteria]
    names = ((f"criterion-{place}", card.title) for place, card in enumerate(cards, start=1))
    return (
        environment(_HERE)
        .get_template("comparison.html")
        .render(
            style=style(),
            script=script(),
            heading=f"{found.answer} ({report.before} compared with {report.after})",
            sections=[("finding", "Finding"), *names, ("to-know", "To know")],
            found=found,
            report=report,
            differences=list(differences(report)),
            cards=cards,
            caveats=list(caveats(report)),
        )
    )
