"""One measurement, what ADK's own results say of its invocation, and the lines for programs in their rationales.

A rationale is a text that anybody's evaluator may have written, also one that copies what a judge said. Ours has its
line for programs second, after one line of its own, and the judge's words after both, each reason on one line. So a
line is read there alone, and believed only where the metric's overall row says of the rubric what our evaluator would
say: no evaluator of ADK writes a judge's words there.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls_with_responses
from google.adk.evaluation.eval_metrics import EvalMetricResult, EvalMetricResultPerInvocation
from google.adk.evaluation.eval_result import EvalCaseResult, EvalSetResult
from google.adk.evaluation.eval_rubrics import RubricScore
from pydantic import Field

from judgeharness_adk.invocations import answer_text, read_document, user_text, validated
from judgeharness_adk.judges import JUDGES
from judgeharness_adk.outcomes import VERSION, counted, headline, machine_line, overall_rationale
from judgeharness_integrations import HarnessResult
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.folds import Status
from judgeharness_integrations.analysis.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.analysis.aggregation.rules import rule as named_rule
from judgeharness_integrations.analysis.aggregation.statistics import Independence, SampleStatus, modal_share
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.fingerprint import Fingerprint
from judgeharness_integrations.analysis.result import CriterionResult
from judgeharness_integrations.analysis.usage import Usage
from judgeharness_integrations.verdictlog.row import ABSTAIN, OUTCOMES
from judgeharness_integrations.verdictlog.shapes import Count, Number, Positive, Shape, Short, Text, misplaced


@dataclass(frozen=True, kw_only=True)
class AdkResult:
    """The measurement of one invocation by one metric; of `hallucinations_v1`, of one step of the invocation.

    `rubrics` maps the rubrics shown to their texts, None where `keep` did not keep them; `standing` are those of the
    metric's own criterion; `parts` is what the fingerprint covers. What ADK's results say of the invocation is None
    where none knows it: the `evaluation` (ADK's `eval_set_result_id`: one eval set evaluated once, all its `num_runs`
    included) and when it was finished (`evaluated_at`, ISO 8601 in UTC), `app`, `eval_set_id`, `eval_id`, `turn`
    (1-based), `run` (1-based, of the runs of that eval case in that evaluation, in order of time), what the user
    (`input`) and the agent (`output`) said, the expected response (`reference`), and the earlier turns and this
    turn's tool calls (`context`). Read from a rationale of ADK's result, where no sidecar holds it, it has no `parts`,
    no `standing` and no texts of rubrics, and of its `result` only the counts are known (`counts_alone`).
    """

    result: HarnessResult
    metric: str
    invocation_id: str
    rubrics: Mapping[str, str | None] = field(repr=False)
    standing: tuple[str, ...]
    parts: Mapping[str, Any] | None = field(repr=False)
    evaluation: str | None = None
    evaluated_at: str | None = None
    app: str | None = None
    eval_set_id: str | None = None
    eval_id: str | None = None
    turn: int | None = None
    run: int | None = None
    input: str | None = None
    output: str | None = None
    reference: str | None = None
    context: str | None = None

    @property
    def joined(self) -> bool:
        """Whether a result of ADK knows the invocation."""
        return self.eval_id is not None

    @cached_property
    def fingerprint(self) -> str | None:
        """Digest of the judge's configuration; None when it declares no identity."""
        return self.result.fingerprint if self.parts is None else Fingerprint(self.parts).digest

    @property
    def pooled(self) -> str | None:
        """What the criteria are called where they are other questions in every invocation: `sentences`."""
        judge = JUDGES.get(self.result.judge)
        return None if judge is None else judge.pooled


_ADK = ".adk"


def files_below(folder: Path, ending: str) -> list[Path]:
    """Return the files of an ending below a folder, in order of name: those of a sidecar start with their time.

    Virtual environments, `node_modules` and hidden folders other than `.adk` are not looked into, links not followed.
    """
    return sorted(_files(folder, ending), key=lambda path: (path.name, str(path)))


def _files(top: Path, ending: str) -> Iterator[Path]:
    for where, folders, files in os.walk(top):
        if "pyvenv.cfg" in files and Path(where) != top:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name == _ADK or not (name.startswith(".") or name == "node_modules")]
        paths = (Path(where, name) for name in files if name.endswith(ending))
        yield from (path for path in paths if path.is_file())  # opening a pipe would wait forever


def project_of(path: Path) -> Path:
    """Return the folder that holds the `.adk` a path is in; where it is in none, the folder itself."""
    path = path.absolute()
    inside = next((part for part in (path, *path.parents) if part.name == _ADK), None)
    if inside is not None:
        return inside.parent
    return path if path.is_dir() else path.parent


ENDING = ".evalset_result.json"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One invocation of one run of an eval case; the fields are those of `AdkResult`."""

    evaluation: str
    evaluated_at: str | None
    app: str | None
    eval_set_id: str
    eval_id: str
    turn: int
    run: int
    input: str
    output: str
    reference: str | None
    context: str


def read_history(path: Path) -> EvalSetResult:
    """Return one result of ADK, whichever version of ADK wrote it.

    Raises:
        CaseError: it cannot be read or is something else.

    """
    return validated(EvalSetResult, read_document(path), f"{path}: is not a result of an ADK eval set")


def turns_of(histories: Sequence[EvalSetResult]) -> Mapping[str, Turn]:
    """Return invocation id -> the invocation, for ids that name one invocation only."""
    turns: dict[str, Turn | None] = {}
    for case, places in runs_of(histories):
        for one, turn in zip(case.eval_metric_result_per_invocation, places, strict=True):
            known = one.actual_invocation.invocation_id
            turns[known] = turn if known and known not in turns else None
    return {known: turn for known, turn in turns.items() if turn is not None}


def runs_of(histories: Sequence[EvalSetResult]) -> Iterator[tuple[EvalCaseResult, Sequence[Turn]]]:
    """Yield the runs of eval cases in order of time, each with its invocations.

    A run that several files hold (copies, or a second evaluation of the same answers) counts once, in the last one.
    """
    for history, case, run in _runs(histories):
        results = case.eval_metric_result_per_invocation
        yield case, [_turn(history, case, run, results[: place + 1]) for place in range(len(results))]


def _runs(histories: Sequence[EvalSetResult]) -> Iterator[tuple[EvalSetResult, EvalCaseResult, int]]:
    """Yield the runs of eval cases in order of time, each with its number within its evaluation.

    ADK writes one result an eval set and evaluation, with all the runs that were asked for together (`num_runs`).
    """
    cases = [(history, case) for history in histories for case in history.eval_case_results]
    cases.sort(key=lambda pair: (_time(pair[0].creation_timestamp), _started(pair[1])))
    last: dict[tuple[object, ...], tuple[EvalSetResult, EvalCaseResult]] = {}
    for place, (history, case) in enumerate(cases):
        ids = [one.actual_invocation.invocation_id for one in case.eval_metric_result_per_invocation]
        same = (case.session_id, *ids) if any((case.session_id, *ids)) else (place,)
        last.pop(same, None)
        last[same] = history, case
    runs: Counter[tuple[str, str, str]] = Counter()
    for history, case in last.values():
        known = (history.eval_set_result_id, history.eval_set_id, case.eval_id)
        runs[known] += 1
        yield history, case, runs[known]


def _app(history: EvalSetResult) -> str | None:
    """Return the name of the agent's app, which ADK keeps in the id of the result alone."""
    app, found, _ = history.eval_set_result_id.rpartition(f"_{history.eval_set_id}_")
    return app if found else None


def _time(stamp: float) -> float:
    return stamp if math.isfinite(stamp) else 0.0


def _moment(stamp: float) -> str | None:
    """Return the time as text; None where the result does not say it (0), or what it says is none."""
    try:
        return datetime.fromtimestamp(stamp, UTC).isoformat(timespec="milliseconds") if stamp else None
    except (ValueError, OverflowError, OSError):
        return None


def _started(case: EvalCaseResult) -> float:
    turns = case.eval_metric_result_per_invocation
    return min((_time(one.actual_invocation.creation_timestamp) for one in turns), default=0.0)


def _turn(
    history: EvalSetResult, case: EvalCaseResult, run: int, until: Sequence[EvalMetricResultPerInvocation]
) -> Turn:
    *earlier, judged = [one.actual_invocation for one in until]
    expected = until[-1].expected_invocation
    said = [line for invocation in earlier for line in _transcript(invocation)]
    return Turn(
        evaluation=history.eval_set_result_id,
        evaluated_at=_moment(history.creation_timestamp),
        app=_app(history),
        eval_set_id=history.eval_set_id,
        eval_id=case.eval_id,
        turn=len(until),
        run=run,
        input=user_text(judged),
        output=answer_text(judged),
        reference=None if expected is None else answer_text(expected),
        context="\n".join([*said, *_tool_calls(judged)]),
    )


def _transcript(invocation: Invocation) -> Iterator[str]:
    yield f"user: {user_text(invocation)}"
    yield from _tool_calls(invocation)
    yield f"agent: {answer_text(invocation)}"


def _tool_calls(invocation: Invocation) -> Iterator[str]:
    for call, response in get_all_tool_calls_with_responses(invocation.intermediate_data):
        answer = "" if response is None else f" -> {_json(response.response)}"
        yield f"tool call: {call.name}({_json(call.args or {})}){answer}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


_FIRST = '{"judgeharness":'  # how a line for programs begins
_LONGEST = 20_000  # characters of a line
_SCORES: Mapping[str, float] = {"PASS": 1.0, "FAIL": 0.0}
_WORDS = {score: word for word, score in _SCORES.items()}
_OTHER = re.compile(r"(ABSTAIN|NOT GRADED|NOT MEASURED) · |decided (.{1,60}), which is neither PASS nor FAIL · ")
_EFFECTIVE = re.compile(r" · (\d{1,9}) of them independent \(")
_SHARES = (".consistency", ".valid_samples")  # `extra_rows`
_IN_SIDECAR = "why is not known"
_Failed: TypeAlias = Literal["unparsed", "refused", "error"]
Rows: TypeAlias = Sequence[Sequence[RubricScore]]  # of a metric, invocation by invocation


class _Facts(Shape):
    judgeharness: Annotated[int, Field(ge=1, le=VERSION)]
    verdict: Short | Number | None
    planned: Count
    samples: dict[Text, Positive] = {}  # noqa: RUF012 - a field of pydantic's
    failed: dict[_Failed, Positive] = {}  # noqa: RUF012
    rule: Text | None = None
    independent: SampleStatus | None = None
    agreement: Number | None = None
    skipped: list[Text] = []  # noqa: RUF012
    model: Text | None = None
    fingerprint: Text | None = None


@dataclass(frozen=True, kw_only=True)
class _Told:
    """What the rationale of one rubric tells: its measurement, and what is the same for all rubrics of it."""

    measured: CriterionResult
    rule: str | None
    model: str | None
    fingerprint: str | None
    skipped: tuple[str, ...]

    @property
    def shared(self) -> tuple[Any, ...]:
        return (self.rule, self.model, self.fingerprint, self.skipped)


def told_results(
    histories: Sequence[EvalSetResult], known: AbstractSet[tuple[str, str]], rules: Mapping[str, RuleLike]
) -> tuple[list[AdkResult], int]:
    """Return the measurements that rationales tell of, and how many lines for programs are not to be believed.

    Args:
        histories: ADK's results.
        known: metric and invocation id of what sidecars hold, which is not read again.
        rules: name -> function, for rules that are not the harness's.

    """
    runs = list(runs_of(histories))
    ids = Counter(one.actual_invocation.invocation_id for case, _ in runs for one in _invocations(case))
    measurements: list[AdkResult] = []
    disbelieved = 0
    for case, turns in runs:
        names = Counter(one.metric_name for one in case.overall_eval_metric_results)
        for overall in case.overall_eval_metric_results:
            metric = overall.metric_name
            rows = [_rows_of(one.eval_metric_results, metric) for one in _invocations(case)]
            vouched = _vouched(overall, rows) if names[metric] == 1 else frozenset()
            for one, turn, scores in zip(_invocations(case), turns, rows, strict=True):
                given = one.actual_invocation.invocation_id
                if (metric, given) in known or (not given and any(name == metric for name, _ in known)):
                    continue
                told, unread = _measured_rubrics(scores, vouched, rules)
                disbelieved += unread
                if told:
                    case_id = given if given and ids[given] == 1 else _case_id(given, turn)
                    measurements.append(
                        _result(told, turn, metric=metric, ids=(given or case_id, case_id), rules=rules)
                    )
    return measurements, disbelieved


def _invocations(case: EvalCaseResult) -> Sequence[Any]:
    return case.eval_metric_result_per_invocation


def _case_id(given: str, turn: Turn) -> str:
    return f"{given or 'invocation'}#{turn.evaluation}-{turn.eval_id}-{turn.run}-{turn.turn}"


def _rows_of(results: Iterable[EvalMetricResult], metric: str) -> Sequence[RubricScore]:
    found = [one for one in results if one.metric_name == metric]
    return found[0].details.rubric_scores or () if len(found) == 1 else ()


def _lines(row: RubricScore) -> list[str]:
    return (row.rationale or "").split("\n")  # by nothing else: what ADK's readers take for one line may hold the rest


def _claims(row: RubricScore) -> bool:
    """Whether a row holds what begins as a line for programs does, where it stands."""
    return any(line.startswith(_FIRST) for line in _lines(row)[1:2])


def _vouched(overall: EvalMetricResult, rows: Rows) -> frozenset[str]:
    """Return the rubrics of which the metric's overall row says what our evaluator says, and nobody else's."""
    said = {row.rubric_id: row.rationale for row in overall.details.rubric_scores or ()}
    groups: dict[str, list[RubricScore]] = {}
    for row in _own(rows):
        groups.setdefault(row.rubric_id, []).append(row)
    judge = JUDGES.get(overall.metric_name)
    if judge is not None and judge.pooled is not None:
        every = [row for group in groups.values() for row in group]
        text = f"{len(every)} {judge.pooled}: {counted(_decision(row)[0] for row in every)}"
        return frozenset(groups) if said.get(judge.pooled) == text else frozenset()
    return frozenset(
        name for name, group in groups.items() if any(map(_claims, group)) and said.get(name) in _overall(group)
    )


def _own(rows: Rows) -> Iterator[RubricScore]:
    """Yield the rows of rubrics, without those that `extra_rows` puts beside them."""
    for scores in rows:
        ids = {row.rubric_id for row in scores}
        for row in scores:
            if not any(row.rubric_id.removesuffix(end) in ids - {row.rubric_id} for end in _SHARES):
                yield row


def _decision(row: RubricScore) -> tuple[str, str]:
    """Return what was decided, as the overall row calls it, and the line for people."""
    line = _lines(row)[0]
    if row.score is not None and row.score in _WORDS:
        return _WORDS[row.score], line
    other = _OTHER.match(line)
    return (other[1] or other[2] if other else ""), line


def _overall(group: Sequence[RubricScore]) -> tuple[str, ...]:
    """Return what the overall row of a rubric may say: as of now, and as of the first version."""
    decisions = [_decision(row) for row in group]
    text = overall_rationale(decisions)
    if not all(_of_first_version(row) for row in group if _claims(row)):
        return (text,)
    if len(group) == 1:
        return (group[0].rationale or "",)
    head, *rest = text.split("\n")
    facts = {"judgeharness": 1, "invocations": len(group), "decisions": Counter(word for word, _ in decisions)}
    return ("\n".join([head, machine_line(facts), *rest]),)


def _of_first_version(row: RubricScore) -> bool:
    return _lines(row)[1].startswith(f"{_FIRST}1,")


def _measured_rubrics(
    scores: Sequence[RubricScore], vouched: AbstractSet[str], rules: Mapping[str, RuleLike]
) -> tuple[dict[str, _Told], int]:
    """Return rubric -> what is told of it in one invocation, and how many lines are not to be believed."""
    claimed = [row for row in scores if _claims(row)]
    told: dict[str, _Told] = {}
    for row in claimed:
        one = _read(row, rules) if row.rubric_id in vouched and row.rubric_id not in told else None
        if one is not None and all(one.shared == other.shared for other in told.values()):
            told[row.rubric_id] = one
    return told, len(claimed) - len(told)


def _read(row: RubricScore, rules: Mapping[str, RuleLike]) -> _Told | None:
    """Return what a row tells; None where its lines and its score are not of one measurement."""
    sentence, line = _lines(row)[:2]
    facts = _document(line)
    if facts is None or misplaced(_Facts, facts):
        return None
    told = _Told(
        measured=_measured(row.rubric_id, facts, sentence),
        rule=facts.get("rule"),
        model=facts.get("model"),
        fingerprint=facts.get("fingerprint"),
        skipped=tuple(facts.get("skipped", ())),
    )
    score = _SCORES.get(told.measured.verdict) if isinstance(told.measured.verdict, str) else None
    if score != row.score or facts.get("status", told.measured.status) != told.measured.status:
        return None
    stopped = replace(told.measured, censored=True)
    same = (one for one in (told.measured, stopped) if _says(sentence, replace(told, measured=one), rules))
    measured = next(same, None)
    return None if measured is None else replace(told, measured=measured)


def _document(line: str) -> dict[str, Any] | None:
    """Return the facts of a line that is letter for letter as it is written."""
    if len(line) > _LONGEST:
        return None
    try:
        facts = json.loads(line)
        return facts if isinstance(facts, dict) and machine_line(facts) == line else None
    except (ValueError, RecursionError):
        return None


def _says(sentence: str, told: _Told, rules: Mapping[str, RuleLike]) -> bool:
    """Whether the line for people says what the line for programs says."""
    name = told.measured.criterion
    plain = replace(told.measured, independence=Independence(status="independent", effective=told.measured.valid))
    result = _harness_result({name: replace(told, measured=plain)}, judge="", case_id="", rules=rules)
    expected = headline(replace(result, skipped={}), name).partition(" · uncalibrated")[0]
    return sentence.startswith(f"{expected} · ")


def _measured(criterion: str, facts: Mapping[str, Any], sentence: str) -> CriterionResult:
    samples, failed, verdict = facts.get("samples", {}), facts.get("failed", {}), facts["verdict"]
    status: Status = "not_graded" if verdict is None else "abstained" if verdict == ABSTAIN else "decided"
    valid = sum(samples.values())
    found = _EFFECTIVE.search(sentence) if facts.get("independent") == "collapsed" else None
    return CriterionResult(
        criterion=criterion,
        verdict=verdict,
        status=status,
        reason=sentence,
        numeric=False,
        sample_distribution=dict(samples),
        outcomes={**dict.fromkeys(OUTCOMES, 0), "ok": valid, **failed},
        planned=facts["planned"],
        consistency_rate=modal_share(samples),
        chance_consistency=None,
        agreement=facts.get("agreement"),
        label_count=None,
        sd=None,
        tolerance=None,
        perturbations=(),
        independence=Independence(
            status=facts.get("independent") or "independent", effective=int(found[1]) if found else valid
        ),
    )


def _result(
    told: Mapping[str, _Told], turn: Turn, *, metric: str, ids: tuple[str, str], rules: Mapping[str, RuleLike]
) -> AdkResult:
    return AdkResult(
        result=_harness_result(told, judge=metric, case_id=ids[1], rules=rules),
        metric=metric,
        invocation_id=ids[0],
        rubrics=dict.fromkeys(told),
        standing=(),
        parts=None,
        **vars(turn),
    )


def _harness_result(
    told: Mapping[str, _Told], *, judge: str, case_id: str, rules: Mapping[str, RuleLike]
) -> HarnessResult:
    first = next(iter(told.values()))
    criteria = {name: one.measured for name, one in told.items()}
    ended = any(one.taken < one.planned and not one.censored for one in criteria.values())
    return HarnessResult(
        case_id=case_id,
        judge=judge,
        judge_model=first.model,
        criteria=criteria,
        design=Design(perturbations=(), repetitions=0, rule=_rule(first.rule, rules)),
        usage=Usage(calls=0, attempts=0, rewrites=0, input_tokens=None, output_tokens=None, latency_s=None),
        rows=(),
        fingerprint=first.fingerprint,
        state="interrupted" if ended else "complete",
        skipped=dict.fromkeys(first.skipped, _IN_SIDECAR),
    )


def _rule(name: str | None, rules: Mapping[str, RuleLike]) -> Rule:
    """Return the rule of a name; one that is not known is a name alone."""
    try:
        if name is not None:
            return named_rule(rules.get(name, name))
    except UsageError:
        pass
    return Rule(name or "unknown", _of_no_rows)


def _of_no_rows(rows: Sequence[object]) -> None:
    del rows
    raise UsageError("the rule is known by its name alone: give load_results its function with rules=.")
