"""Decisions about rubrics as the scores and statuses ADK counts with, and as the text it carries."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_rubrics import RubricScore
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult
from pydantic_core import PydanticSerializationError, to_json

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.analysis.usage import known_sum, tokens_of
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.reporting.text import dissent, rationale, shown_order
from judgeharness_integrations.reporting.text import headline as headline_of
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

from . import _seams
from .measuring import Judged
from .options import HarnessBlock, OnAbstain

if TYPE_CHECKING:
    from google.adk.evaluation.eval_metrics import TokenUsageDetails

VERSION = 2  # of the line for programs
_dense = json.JSONEncoder(separators=(",", ":")).encode
_LISTED = 10  # invocations whose lines an overall row repeats
_LONGEST_REASON = 1_500  # characters; the sidecar has it whole


def rubric_rationale(result: HarnessResult, criterion: str, line: str) -> str:
    """Return the text of a `RubricScore.rationale`: its second line is for programs, and a judge's words come after it.

    Args:
        result: the measurement of the invocation.
        criterion: the rubric.
        line: its `headline`.

    """
    return "\n".join(
        [
            line,
            machine_line(_facts(result, result.criteria[criterion])),
            *_reasons(result, criterion),
        ]
    )


def machine_line(facts: Mapping[str, Any]) -> str:
    """Return the line for programs."""
    return _dense(facts)


def counted(words: Iterable[str]) -> str:
    """Return decisions with how often they were made: `2 PASS, 1 ABSTAIN`."""
    return ", ".join(f"{count} {word}" for word, count in Counter(words).items())


def overall_rationale(group: Sequence[tuple[str, str]]) -> str:
    """Return what the overall row of a rubric says of its invocations, each a decision and the line for people.

    It is the only invocation's line, or the count of decisions and a line an invocation; its row has the rest.
    """
    if len(group) == 1:
        return group[0][1]
    lines = [f"{place}. {line}" for place, (_, line) in enumerate(group[:_LISTED], start=1)]
    more = [f"… and {len(group) - _LISTED} more"] if len(group) > _LISTED else []
    return "\n".join([f"{len(group)} invocations: {counted(word for word, _ in group)}", *lines, *more])


def headline(result: HarnessResult, criterion: str, *, standing: bool = True) -> str:
    """Return one line: samples, rule, consistency, calibration; first of all `ABSTAIN` or `NOT GRADED`.

    A rubric is `standing` that belongs to the metric's criterion; a calibration says nothing about others, and of them
    a passport says so itself.
    """
    verdict = result.criteria[criterion].verdict
    odd = None if verdict in ("PASS", "FAIL") else f"decided {verdict_text(verdict)}, which is neither PASS nor FAIL"
    anchor = (
        None if standing or result.design.passport is not None else "uncalibrated: a rubric of this invocation alone"
    )
    return headline_of(result, criterion, decided=odd, anchor=anchor)


def _facts(result: HarnessResult, measured: CriterionResult) -> dict[str, Any]:
    """Return what a program may want of the measurement without the sidecar; what is empty is left out."""
    independence = measured.independence.status
    counted = {
        "samples": {verdict_text(verdict): count for verdict, count in measured.sample_distribution.items()},
        "failed": {name: count for name, count in measured.outcomes.items() if name != "ok" and count},
        "rule": None if result.informal else result.aggregation_rule,
        "independent": None if independence == "independent" else independence,
        "flips": {name: rate for name, rate in measured.flip_rates.items() if rate},
        "skipped": list(result.skipped),
        "model": result.judge_model,
        "fingerprint": result.fingerprint,
    }
    told = {name: value for name, value in counted.items() if value}
    return {"judgeharness": VERSION, "verdict": measured.verdict, "planned": measured.planned, **told}


def _reasons(result: HarnessResult, criterion: str) -> Iterator[str]:
    measured = result.criteria[criterion]
    if result.design.passport is not None and measured.status == "abstained":  # a decision model gives no reasons
        yield f"why: {safe_text(measured.reason or '', _LONGEST_REASON)}"
    for word, row in (("reason", rationale(result, criterion)), ("dissent", dissent(result, criterion))):
        if row is not None and (text := safe_text(row.reasoning or "", _LONGEST_REASON)):
            yield f"{word} ({verdict_text(row.verdict)}{shown_order(row)}): {text}"
    failed = [row for row in result.rows if row.criterion == criterion and not row.ok]
    for (outcome, text), count in Counter((row.outcome, _why(row)) for row in failed).most_common(1):
        if text:
            yield f"failed ({count} {outcome}): {text}"


def _why(row: VerdictRow) -> str:
    said = row.error or row.reasoning or ""
    return "" if said.startswith("sha256:") else safe_text(said, _LONGEST_REASON)  # kept as a hash


SCHEMA = "judgeharness.adk/1"
SUFFIX = ".judgeharness.jsonl"
_LOGGER = logging.getLogger("judgeharness_adk")
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_encoded = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":")).encode
_lock = threading.Lock()
_files: dict[tuple[Path, int], Path] = {}  # (directory, process) -> the file of this process


class Sidecar:
    """What is kept of the measurements of one metric and eval case: a line each, on disk as soon as it is told."""

    def __init__(
        self, directory: Path, *, metric: str, standing: tuple[str, ...], parts: Mapping[str, Any] | None
    ) -> None:
        """Prepare what every line says; nothing is written.

        Args:
            directory: where the file of this process stands.
            metric: ADK's name of the metric.
            standing: the ids of the rubrics that belong to the metric's criterion.
            parts: what the fingerprint covers.

        """
        self._directory, self._redact = directory.absolute(), redactor()
        self._metric = self._redact.data({"schema": SCHEMA, "metric": metric})
        self._parts = self._redact.data(
            {"standing": list(standing), "parts": None if parts is None else dict(parts)},
        )
        self._harmless: dict[str, Any] = {}  # what the latest line said without a secret, key by key

    def keep(self, result: HarnessResult, *, invocation_id: str, rubrics: Mapping[str, str], **facts: Any) -> None:
        """Write the line of one measurement, without secrets; its rows were made without them.

        Args:
            result: the measurement; its criteria are the rubrics.
            invocation_id: ADK's id of the invocation, by which its results are joined.
            rubrics: rubric id -> text.
            facts: further keys, such as the step of an invocation.

        """
        document = result.to_dict(rows=True)
        rows = document.pop("rows")
        about = self._clean({"invocation_id": invocation_id, "rubrics": dict(rubrics)})
        told = {**self._clean(facts), "result": {**self._clean(document), "rows": rows}}
        write({**self._metric, **about, **self._parts, **told}, self._directory)

    def _clean(self, said: dict[str, Any]) -> dict[str, Any]:
        """Return what a line says without secrets; most of it was looked through in the line before."""
        for name, value in said.items():
            if self._harmless.get(name) != value:
                said[name] = clean = self._redact.data(value)
                self._harmless[name] = value if clean is value else None
        return said


def write(line: Mapping[str, Any], directory: Path) -> None:
    """Append a line to this process's file in a directory; one that cannot be written to is a warning, not an error."""
    try:
        data = to_json(line, fallback=str) + b"\n"  # in a quarter of the time that json takes
    except PydanticSerializationError:  # half an emoji: a model's answer was cut off there
        data = f"{_encoded(line)}\n".encode(errors=LONE_SURROGATES)
    try:
        with _lock:
            _append(data, directory)
    except OSError as error:
        _LOGGER.warning("the measurement is not kept: %s cannot be written to (%s).", directory, error.strerror)


def _append(data: bytes, directory: Path) -> None:
    """Append to the file of this process, which is another one where its directory was taken away."""
    key = (directory, os.getpid())
    try:
        file = owner_only(_files[key], _APPENDING) if key in _files else owner_only(_new_file(key), _APPENDING)
    except FileNotFoundError:
        file = owner_only(_new_file(key), _APPENDING)
    try:
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def _new_file(key: tuple[Path, int]) -> Path:
    """Name the file of a process in a directory, which is made where there is none."""
    directory, process = key
    directory.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    _files[key] = directory / f"{stamp}-{process}-{os.urandom(3).hex()}{SUFFIX}"
    return _files[key]


def _forget() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when the process was forked
    _lock = threading.Lock()


with suppress(AttributeError):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget)


class Score(NamedTuple):
    """A metric's score, None when it has none, and its status."""

    value: float | None
    status: EvalStatus


def fold(
    scores: Sequence[float | None],
    threshold: float,
    on_abstain: OnAbstain,
    *,
    weights: Sequence[Fraction | int] | None = None,
    judged: bool = True,
) -> Score:
    """Return the mean of rubric scores and whether it reaches the threshold.

    Rubrics without a decision are None. With `fail` they count as not fulfilled. Otherwise the decided rubrics settle
    the status if they can, whatever the others would have been; if they cannot it is what `on_abstain` says:
    `not_evaluated` without a score, `informational` with the mean of the decided rubrics. Nothing passes unless a
    judge decided some of it (`judged`).
    """
    if not scores:
        return Score(None, EvalStatus.NOT_EVALUATED)
    weights = [1] * len(scores) if weights is None else weights
    total = sum(weights)  # exact, so that a mean meets a threshold it equals
    decided = [(_exact(score), weight) for score, weight in zip(scores, weights, strict=True) if score is not None]
    known, won = sum(weight for _, weight in decided), sum(score * weight for score, weight in decided)
    low, high = float(won / total), float((won + total - known) / total)
    mean = float(won / known) if known else None
    if judged and len(decided) == len(scores):
        return _compared(low, threshold)
    if on_abstain == "fail":
        # a metric of which nothing was decided has not passed, however low the bar
        return _compared(low, threshold) if judged and decided else Score(0.0, EvalStatus.FAILED)
    if mean is not None and (high < threshold or (judged and low >= threshold)):
        return _compared(mean, threshold)
    if on_abstain == "not_evaluated":
        return Score(None, EvalStatus.NOT_EVALUATED)
    return Score(mean if judged else None, EvalStatus.INFORMATIONAL)


def _exact(score: float) -> Fraction | int:
    return int(score) if score in (0, 1) else Fraction(score)  # whole numbers are added in a tenth of the time


def _compared(value: float, threshold: float) -> Score:
    return Score(value, EvalStatus.PASSED if value >= threshold else EvalStatus.FAILED)


_KIND = _seams.token_usage_details()

# ADK's name of a count -> ours; a judge has no tools, and what of its output was thought is not told apart
_COUNTS: Mapping[str, str] = {
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "cached_tokens": "cached_input_tokens",
    "output_tokens": "output_tokens",
}


def details_of(judged: Judged) -> TokenUsageDetails | None:
    """Return the tokens of an invocation, those of its preparation included; None where no answer told any."""
    samples, before = tokens_of(result.usage for result in judged.results), judged.preparation
    counts = {adks: known_sum((samples[ours], before[ours])) for adks, ours in _COUNTS.items()}
    total = known_sum((counts["input_tokens"], counts["output_tokens"]))
    return None if total is None or _KIND is None else _KIND(total_tokens=total, **counts)


def average_of(every: Sequence[TokenUsageDetails | None]) -> TokenUsageDetails | None:
    """Return the average over the invocations as ADK forms it: one that tells nothing counts as none."""
    told = [details.model_dump() for details in every if details is not None]
    if not told or _KIND is None:
        return None
    sums = {name: known_sum(details[name] for details in told) for name in _KIND.model_fields}
    return _KIND(**{name: None if sum_ is None else sum_ / len(every) for name, sum_ in sums.items()})


_SCORES = {"PASS": 1.0, "FAIL": 0.0}
_UNPREPARED = "preparation"  # the row of what could not be judged
_WORDS = {"abstained": "ABSTAIN", "not_graded": "NOT GRADED"}


@dataclass(frozen=True, kw_only=True)
class _Rubric:
    """One decision: rubric, score (None without a decision), weight in the metric's mean, and what it rests on.

    What was `compared` no judge decided.
    """

    id: str
    score: float | None
    weight: Fraction | int
    word: str
    headline: str
    rationale: str
    shares: tuple[tuple[str, float | None], ...] = ()
    compared: bool = False


@dataclass(frozen=True, kw_only=True)
class Reporter:
    """Tells ADK what was measured.

    `standing` are the rubrics of the metric's own criterion; of a `conjunctive` metric an invocation is one decision.
    `pooled` is the id of the metric's one overall row where its questions differ between invocations (sentences);
    `balanced` gives each invocation the same weight, as ADK's metric does.
    """

    threshold: float
    block: HarnessBlock
    standing: frozenset[str]
    pooled: str | None = None
    balanced: bool = False
    conjunctive: bool = False

    def result(
        self, judged: Sequence[Judged], actual: Sequence[Invocation], expected: Sequence[Invocation] | None
    ) -> EvaluationResult:
        """Return one result an invocation, and the metric's own."""
        decided = [list(self._rubrics(one)) for one in judged]
        unjudged = _unjudged([rubric for rubrics in decided for rubric in rubrics])
        decided = [[_alone(rubric) if unjudged else rubric for rubric in rubrics] for rubrics in decided]
        units = [self._units(rubrics) for rubrics in decided]
        tokens = [details_of(one) for one in judged]
        invocations = []
        for place, rubrics in enumerate(decided):
            score = self._fold(units[place], judged=not unjudged)
            invocations.append(
                PerInvocationResult(
                    actual_invocation=actual[place],
                    expected_invocation=None if expected is None else expected[place],
                    score=score.value,
                    eval_status=score.status,
                    rubric_scores=[*self._rows(rubrics)] or None,
                    token_usage_details=tokens[place],
                )
            )
        every = [rubric for rubrics in decided for rubric in rubrics]
        overall = self._fold([unit for one in units for unit in one], judged=not unjudged)
        return EvaluationResult(
            overall_score=overall.value,
            overall_eval_status=overall.status,
            per_invocation_results=invocations,
            overall_rubric_scores=[*self._overall(every, overall)] or None,
            overall_token_usage_details=average_of(tokens),
        )

    def _units(self, rubrics: list[_Rubric]) -> list[_Rubric]:
        """Return what counts of an invocation: of a conjunctive metric its worst: failed, open, passed."""
        if not self.conjunctive:
            return rubrics
        return sorted(rubrics, key=lambda rubric: 0.5 if rubric.score is None else rubric.score)[:1]

    def _fold(self, rubrics: Sequence[_Rubric], *, judged: bool) -> Score:
        scores, weights = [rubric.score for rubric in rubrics], [rubric.weight for rubric in rubrics]
        return fold(scores, self.threshold, self.block.on_abstain, weights=weights, judged=judged)

    def _rubrics(self, judged: Judged) -> Iterator[_Rubric]:
        units = (len(judged.results) + len(judged.problems)) if self.balanced else 1
        for problem in judged.problems:
            text = safe_text(f"NOT GRADED · {problem}", 1_000)
            yield _Rubric(
                id=_UNPREPARED, score=None, weight=Fraction(1, units), word="NOT GRADED", headline=text, rationale=text
            )
        for known in judged.settled:
            word = "PASS" if known.passed else "FAIL"
            text = f"{word} · {known.why} · compared, no judge asked"
            yield _Rubric(
                id=known.id,
                score=_SCORES[word],
                weight=1,
                word=word,
                headline=text,
                rationale=text,
                compared=True,
            )
        for result in judged.results:
            for name, measured in result.criteria.items():
                line = headline(result, name, standing=name in self.standing)
                yield _Rubric(
                    id=name,
                    score=_SCORES.get(str(measured.verdict)) if measured.status == "decided" else None,
                    weight=Fraction(1, len(result.criteria) * units) if self.balanced else 1,
                    word=_WORDS.get(measured.status, str(measured.verdict)),
                    headline=line,
                    rationale=rubric_rationale(result, name, line),
                    shares=_shares(result, name),
                )

    def _rows(self, rubrics: Iterable[_Rubric]) -> Iterator[RubricScore]:
        for rubric in rubrics:
            yield RubricScore(rubric_id=rubric.id, score=rubric.score, rationale=rubric.rationale)
            if self.block.extra_rows:
                for name, share in rubric.shares:
                    yield RubricScore(rubric_id=f"{rubric.id}.{name}", score=share, rationale=rubric.headline)

    def _overall(self, rubrics: Sequence[_Rubric], overall: Score) -> Iterator[RubricScore]:
        if self.pooled is not None:
            if rubrics:
                text = f"{len(rubrics)} {self.pooled}: {counted(rubric.word for rubric in rubrics)}"
                yield RubricScore(rubric_id=self.pooled, score=overall.value, rationale=text)
            return
        groups: dict[str, list[_Rubric]] = {}
        for rubric in rubrics:
            groups.setdefault(rubric.id, []).append(rubric)
        for name, group in groups.items():
            score = None if _unjudged(group) else self._fold(group, judged=True).value
            told = [(rubric.word, rubric.headline) for rubric in group]
            yield RubricScore(rubric_id=name, score=score, rationale=overall_rationale(told))


def _unjudged(rubrics: Sequence[_Rubric]) -> bool:
    """Whether a judge was to decide something and decided nothing: what was compared is then no measurement."""
    asked = [rubric for rubric in rubrics if not rubric.compared]
    return bool(asked) and all(rubric.score is None for rubric in asked)


def _alone(rubric: _Rubric) -> _Rubric:
    """Return what was compared saying that it counts for nothing; everything else as it is."""
    if not rubric.compared:
        return rubric
    text = f"{rubric.headline} · counts for nothing, as no judge decided anything else"
    return replace(rubric, headline=text, rationale=text)


def _shares(result: HarnessResult, criterion: str) -> tuple[tuple[str, float | None], ...]:
    measured = result.criteria[criterion]
    valid = measured.valid / measured.planned if measured.planned else None
    return (("consistency", measured.consistency_rate), ("valid_samples", valid))


def unmeasured(
    metric: str, actual: Sequence[Invocation], expected: Sequence[Invocation] | None, sentence: str
) -> EvaluationResult:
    """Return the result of a metric that could not be measured: failed, and why.

    Its invocations score 0.0: AgentEvaluator averages over runs and leaves out what has no score.
    """
    row = RubricScore(rubric_id=metric, score=None, rationale=safe_text(f"NOT MEASURED · {sentence}", 1_000))
    matched = expected if expected is not None and len(expected) == len(actual) else [None] * len(actual)
    return EvaluationResult(
        overall_score=None,
        overall_eval_status=EvalStatus.FAILED,
        per_invocation_results=[
            PerInvocationResult(
                actual_invocation=one,
                expected_invocation=other,
                score=0.0,
                eval_status=EvalStatus.FAILED,
                rubric_scores=[row],
            )
            for one, other in zip(actual, matched, strict=True)
        ],
        overall_rubric_scores=[row],
    )
