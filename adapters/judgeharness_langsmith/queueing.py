"""What goes to annotation queues of LangSmith, and what evaluators there said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias
from uuid import NAMESPACE_OID, UUID, uuid5

from langsmith import Client, trace
from langsmith.evaluation import EvaluationResult
from langsmith.run_helpers import get_tracing_context, tracing_context
from langsmith.schemas import Feedback, Run, RunKey, TracerSession
from langsmith.utils import LangSmithError

from judgeharness_integrations._errors import CaseError, JudgeHarnessError, UsageError
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow, is_number, most_probable

from ._seams import quietly, runs_by_id
from .evaluating import HarnessRunEvaluator, Prepare
from .feedback import NOT_GRADED
from .labels import (
    as_id,
    cases_of,
    examples_by_id,
    examples_of,
    project_of,
    projects_of,
    runs_of,
    source_run,
    workspace,
)

Results: TypeAlias = "Mapping[str, HarnessResult] | Iterable[HarnessResult | tuple[str | UUID, HarnessResult]]"
Undecided: TypeAlias = Literal["abstained", "not_graded"]

_MOST = 100  # runs a request
_STATUSES: tuple[Undecided, ...] = ("abstained", "not_graded")
_DESCRIPTION = "Runs whose evaluation came to no decision."


@dataclass(frozen=True, kw_only=True)
class QueueReport:
    """What was routed to a queue.

    `queued` are run ids; `no_run` are the cases to be queued whose id is no run's, `unknown` the run ids LangSmith
    does not know, or not yet; `decided` counts the results that need nobody. `queue_id` is None when none was queued.
    """

    queue: str
    queue_id: str | None = None
    queued: tuple[str, ...] = ()
    no_run: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    decided: int = 0

    def __str__(self) -> str:
        """Return it on one line."""
        parts = [f"{len(self.queued)} runs queued in {safe_text(self.queue)!r}", f"{self.decided} decided"]
        parts += [f"{len(self.no_run)} not queued: of no run"] if self.no_run else []
        parts += [f"{len(self.unknown)} not queued: LangSmith does not know the run"] if self.unknown else []
        return "; ".join(parts)


def queue_abstentions(
    results: Results,
    *,
    queue: str,
    client: Client | None = None,
    project: str | None = None,
    only: Undecided | Collection[Undecided] = _STATUSES,
    create: bool = True,
) -> QueueReport:
    """Add the runs about which a harness came to no decision to an annotation queue.

    Args:
        results: run id -> measurement, as `HarnessRunEvaluator.results` has them; or pairs of these; or
            measurements whose rows name the run, or whose case id is the run's. One undecided criterion is enough.
        queue: its name or id.
        client: of LangSmith; the process's own when None.
        project: name or id of the runs' project, which some servers need to find runs by id.
        only: the statuses that are queued.
        create: make the queue when there is none of that name and something is to be queued.

    Raises:
        UsageError: there is no such queue and none may be made, `only` names another status, or the server needs
            the project.

    """
    only = {only} if isinstance(only, str) else set(only)
    if strange := only - set(_STATUSES):
        raise UsageError(f"only holds {', '.join(map(repr, sorted(strange)))}: give abstained, not_graded or both.")
    given = list(_pairs(results))
    chosen = [run for run, result in given if any(one.status in only for one in result.criteria.values())]
    ids = list(dict.fromkeys(run_id for run in chosen if (run_id := as_id(run)) is not None))
    report = QueueReport(
        queue=queue,
        no_run=tuple(dict.fromkeys(run for run in chosen if as_id(run) is None)),
        decided=len(given) - len(chosen),
    )
    return _queued(report, ids, client, project=project, create=create) if ids else report


def queue_cases(
    cases: Iterable[AnswerCase],
    *,
    queue: str,
    project: str = "judgeharness",
    client: Client | None = None,
    create: bool = True,
) -> QueueReport:
    """Add cases to an annotation queue: one that is of no run in LangSmith becomes a run of its own, once.

    Inputs and outputs of such a run are the texts of the case, and its metadata holds the `case_id`. The attribute
    `run_id` of a case that was made of a run names it.

    Args:
        cases: those that wait for people, as `read_cases("queue.jsonl")` returns them from the folder of a run.
        queue: its name or id.
        project: where the runs are made.
        client: of LangSmith; the process's own when None.
        create: make the queue when there is none of that name and something is to be queued.

    Raises:
        UsageError: there is no such queue and none may be made.

    """
    client, report = workspace(client), QueueReport(queue=queue)
    mine, theirs = dict[str, AnswerCase](), list[str]()
    for case in cases:
        if (run_id := as_id(case.attributes.get("run_id"))) is None:
            mine[_new_id(project, case)] = case
        else:
            theirs.append(run_id)
    if mine:
        client.create_project(project, upsert=True)
        known = {str(run.id) for run in runs_by_id(client, [*mine], project=project_of(client, project))}
        with tracing_context(enabled=True, client=client):
            for run_id in mine.keys() - known:
                _trace(client, mine[run_id], UUID(run_id), project)
        report = _queued(report, [*mine], client, project=project, create=create)
    return _queued(report, theirs, client, project=None, create=create) if theirs else report


def _new_id(project: str, case: AnswerCase) -> str:
    """Return the id of the run that stands for a case in a project: the same each time."""
    return str(uuid5(NAMESPACE_OID, repr((project, case.case_id, case.all_texts()))))


def _trace(client: Client, case: AnswerCase, run_id: UUID, project: str) -> None:
    shown = {name: getattr(case, name, None) for name in ("input", "reference", "context", "output", "output_b")}
    told = {name: text for name, text in shown.items() if text is not None}
    outputs = {name: told.pop(name) for name in ("output", "output_b") if name in told}
    facts: dict[str, Any] = {"run_id": run_id, "project_name": project, "metadata": {"case_id": case.case_id}}
    with trace("case", inputs=told, client=client, **facts) as run:
        run.end(outputs=outputs)


def _queued(
    report: QueueReport, ids: Sequence[str], client: Client | None, *, project: str | None, create: bool
) -> QueueReport:
    """Add runs to a queue, and say which ones are in it now and which LangSmith does not know."""
    client = workspace(client)
    keys = _keys(client, ids, project)
    report = replace(report, unknown=(*report.unknown, *(run_id for run_id in ids if run_id not in keys)))
    if not keys:
        return report
    queue_id = _queue_id(client, report.queue, create=create)
    runs = list(keys.values())
    for start in range(0, len(runs), _MOST):
        with quietly():  # deprecated from 0.15 on for a way that earlier versions lack
            client.add_runs_to_annotation_queue(queue_id, runs=runs[start : start + _MOST])
    return replace(report, queue_id=queue_id, queued=(*report.queued, *keys))


def _pairs(results: Results) -> Iterator[tuple[str, HarnessResult]]:
    for one in results.items() if isinstance(results, Mapping) else results:
        run, result = (_run_of(one), one) if isinstance(one, HarnessResult) else one
        yield str(run), result


def _run_of(result: HarnessResult) -> str:
    """Return the run a measurement is of, as its rows say; its case id where they do not."""
    return str(next((row.attributes["run_id"] for row in result.rows if "run_id" in row.attributes), result.case_id))


def _keys(client: Client, run_ids: Sequence[str], project: str | None) -> dict[str, RunKey]:
    """Return run id -> what the server finds the run by, in order."""
    found = runs_by_id(client, run_ids, project=None if project is None else project_of(client, project))
    known = {
        str(run.id): RunKey(run_id=run.id, session_id=run.session_id, start_time=run.start_time)
        for run in found
        if run.session_id is not None
    }
    return {run_id: known[run_id] for run_id in run_ids if run_id in known}


def _queue_id(client: Client, queue: str, *, create: bool) -> str:
    given = as_id(queue)
    listed = client.list_annotation_queues(queue_ids=[given]) if given else client.list_annotation_queues(name=queue)
    found = next((str(known.id) for known in listed if queue == known.name or given == str(known.id)), None)
    if found is not None:
        return found
    if given or not create:
        raise UsageError(f"LangSmith knows no annotation queue {queue!r}: give the name of one, or create=True.")
    return str(client.create_annotation_queue(name=queue, description=_DESCRIPTION).id)


_PROJECT = "evaluators"  # where `evaluate` puts the traces of evaluators
_ATTEMPTS = 3  # of one request, where LangSmith cannot be reached or fails
_FIELDS = ("score", "value", "comment", "extra", "source_run_id")


def grade_again(
    evaluator: HarnessRunEvaluator, *, experiment: str, client: Client | None = None
) -> dict[str, HarnessResult]:
    """Judge the runs of an experiment that were not graded, and put the new feedback in place of the old.

    Neither the application nor any row that is decided, or abstained, is asked again. A run's old feedback is deleted
    when LangSmith has stored all of its new feedback; what people said stays.

    Args:
        evaluator: with the keys the experiment has; its limits hold.
        experiment: the experiment's name.
        client: who asks LangSmith; its own choice by default.

    Returns:
        Run id -> the new measurement, which may be not graded again.

    Raises:
        UsageError: LangSmith knows no such experiment.
        CaseError: a run cannot be made a case of; those before it are done.
        JudgeHarnessError: LangSmith refused new feedback; the old stays, and the runs before this one are done.

    """
    client = workspace(client)
    project = project_of(client, experiment)
    old = _not_graded(client, str(project.id), evaluator)
    runs = list(runs_by_id(client, list(old), project=project))
    shown = sorted({str(run.reference_example_id) for run in runs if run.reference_example_id is not None})
    version = (project.metadata or {}).get("dataset_version")
    examples = {str(example.id): example for example in examples_by_id(client, shown, as_of=version)}
    for run in runs:
        context: dict[str, Any] = get_tracing_context() | {"project_name": _PROJECT}
        with tracing_context(**context):
            found = evaluator.evaluate_run(run, examples.get(str(run.reference_example_id))).get("results", [])
        _replace(client, run, project, old[str(run.id)], found)
    client.flush()
    return {str(run.id): evaluator.results[str(run.id)] for run in runs}


def _not_graded(client: Client, project: str, evaluator: HarnessRunEvaluator) -> Mapping[str, list[Feedback]]:
    """Return run id -> its rows of the evaluator's family, of the runs where one says that it was not graded."""
    rows = client.list_feedback(feedback_key=evaluator.feedback_keys, session=[project])
    by_run: defaultdict[str, list[Feedback]] = defaultdict(list)
    for row in rows:
        if row.feedback_source is None or row.feedback_source.type != "app":  # which is a person's
            by_run[str(row.run_id)].append(row)
    return {run: found for run, found in by_run.items() if any(map(_says_so, found))}


def _replace(
    client: Client, run: Run, project: TracerSession, old: Iterable[Feedback], new: Iterable[EvaluationResult]
) -> None:
    """Delete a run's old feedback when all that is new is stored; the next call replaces what was stored of it if not.

    Feedback sent with a trace id is queued, and a queue tells nobody what LangSmith refused.
    """
    try:
        for one in new:
            facts: dict[str, Any] = {name: getattr(one, name) for name in _FIELDS}
            where: dict[str, Any] = {"session_id": project.id, "stop_after_attempt": _ATTEMPTS}
            client.create_feedback(run.id, one.key, source_info=_info(one.evaluator_info), **facts, **where)
        for row in sorted(old, key=_says_so):
            client.delete_feedback(row.id)
    except (LangSmithError, OSError) as error:  # of requests an OSError
        raise JudgeHarnessError(
            f"LangSmith refused to replace the feedback of run {run.id}, so this run and those after it are not done; "
            f"call grade_again again when LangSmith takes feedback ({type(error).__name__}: {str(error)[:200]})."
        ) from error


def _says_so(row: Feedback) -> bool:
    """Whether a row says that the run was not graded: deleted last, it brings the run back where deleting fails."""
    return bool(row.value == NOT_GRADED)


def _info(info: Any) -> dict[str, Any]:
    return dict(info) if isinstance(info, Mapping) else {}


_BY_MODELS: Final = frozenset({"model", "auto_eval"})
_GRADES: Final[Mapping[Verdict | None, Verdict]] = {1: "PASS", 0: "FAIL"}


@dataclass(frozen=True, kw_only=True)
class JudgedRuns:
    """What evaluators said of runs under one key: `rows` of a verdict log, and reason -> how much was left out."""

    rows: tuple[VerdictRow, ...] = field(repr=False)
    skipped: Mapping[str, int] = field(default_factory=dict)


def evaluator_verdicts(
    *,
    client: Client | None = None,
    key: str,
    project: str | None = None,
    dataset: str | None = None,
    prepare: Prepare | None = None,
    values: bool = False,
    criterion: str | None = None,
    judge: str | None = None,
    probabilities: bool = False,
) -> JudgedRuns:
    """Read evaluators' feedback on runs under a key as rows, with the probabilities under `{key}.probability`.

    A case is what a run gave, as `human_labels` makes it, so that people's labels join the rows; each further answer
    about it is a repetition. Where all decisions of the key are 1 or 0, PASS or FAIL, `{key}.probability` is that of
    PASS. Of other labels it is the verdict's alone, which is no distribution: those rows hold the verdict. What a
    harness wrote is its decision, and the mean of the probabilities it asked for.

    Args:
        client: of LangSmith; the process's own when None.
        key: the feedback key of the evaluator, or of the question of a decision-model evaluator.
        project: name or id of a project or experiment.
        dataset: name or id of a dataset instead: the runs of all its experiments.
        prepare: (run, example) -> the case; see `human_labels`.
        values: see `human_labels`.
        criterion: the name of the question in the rows; the key when None.
        judge: the name of the judge in the rows; the key when None.
        probabilities: read the scores themselves as the probability of PASS, as LangSmith's own decision-model
            evaluators write those of a question of yes or no.

    Raises:
        UsageError: project and dataset are both given or both missing, or LangSmith does not know one.
        CaseError: no evaluator said anything, a run cannot be made a case of, or a score is no probability.

    """
    client = workspace(client)
    skipped: Counter[str] = Counter()
    cases: dict[str, AnswerCase] = {}
    said: list[tuple[Feedback, float | None]] = []
    for place in projects_of(client, project, dataset):
        told = f"{key}.probability"
        feedback = list(client.list_feedback(feedback_key=[key, told], session=[str(place.id)]))
        mine = list(_paired(feedback, key, told, skipped, scores=probabilities))
        runs = runs_of(client, place, (str(one.run_id) for one, _ in mine), skipped)
        cases.update(cases_of(runs, examples_of(client, place, runs.values()), prepare, values=values))
        skipped["on a run without outputs"] += sum(
            str(one.run_id) in runs and str(one.run_id) not in cases for one, _ in mine
        )
        said += [(one, share) for one, share in mine if str(one.run_id) in cases]
    if not said:
        where = f"{key} of {project or dataset}"
        why = ", ".join(f"{count} {reason}" for reason, count in (+skipped).items()) or "no feedback"
        raise CaseError(f"no evaluator said anything under {where!r} ({why}): name the key of one.")
    rows = tuple(_rows(said, cases, judge=judge or key, criterion=criterion or key, scores=probabilities))
    return JudgedRuns(rows=rows, skipped=dict(+skipped))


def _paired(
    feedback: Iterable[Feedback], key: str, told: str, skipped: Counter[str], *, scores: bool
) -> Iterator[tuple[Feedback, float | None]]:
    """Yield what evaluators said under a key, oldest first, with the probability the same evaluation gave beside it."""
    shares: defaultdict[tuple[str, str | None], list[float | None]] = defaultdict(list)
    heads: list[Feedback] = []
    for one in sorted(feedback, key=lambda one: one.created_at):
        if source_run(one) is None and (one.feedback_source is None or one.feedback_source.type not in _BY_MODELS):
            skipped["not from an evaluator"] += one.key == key
        elif one.run_id is None:
            skipped["on no run"] += one.key == key
        elif one.key == told:
            shares[str(one.run_id), source_run(one)].append(_number(one.score))
        else:
            heads.append(one)
    for one in heads:
        beside = shares[str(one.run_id), source_run(one)]
        yield one, _number(one.score) if scores else beside.pop(0) if beside else None


def _number(score: object) -> float | None:
    return float(score) if is_number(score) else None  # type: ignore[arg-type]


def _rows(
    said: Sequence[tuple[Feedback, float | None]],
    cases: Mapping[str, AnswerCase],
    *,
    judge: str,
    criterion: str,
    scores: bool,
) -> Iterator[VerdictRow]:
    verdicts = [None if scores else _verdict(one) for one, _ in said]
    known = {verdict for verdict in verdicts if verdict is not None}
    graded = scores or (bool(known) and known <= _GRADES.keys())
    asked: Counter[str] = Counter()
    for (one, share), verdict in zip(said, verdicts, strict=True):
        case_id = cases[str(one.run_id)].case_id
        shares = _distribution(one, share) if graded and share is not None else None
        found = _GRADES.get(verdict, verdict) if graded else verdict
        found = found if shares is None else most_probable(shares)
        answered = shares is not None or found is not None
        yield VerdictRow(
            case_id=case_id,
            judge=judge,
            criterion=criterion,
            repetition=asked[case_id],
            verdict=found,
            probabilities=shares,
            outcome="ok" if answered else "unparsed",
            reasoning=one.comment if answered else None,
            raw=None if answered else one.comment,
            asked_at=one.created_at.isoformat(),
            attributes={"run_id": str(one.run_id), "feedback_id": str(one.id)},
        )
        asked[case_id] += 1


def _verdict(one: Feedback) -> Verdict | None:
    """Return the label or score; None where nothing was decided."""
    score = int(one.score) if isinstance(one.score, bool) else one.score
    text = one.value.strip() if isinstance(one.value, str) else ""
    if text in (ABSTAIN, NOT_GRADED):
        return None
    return score if is_number(score) else text or None


def _distribution(one: Feedback, share: float) -> dict[str, float]:
    if not 0 <= share <= 1:
        raise CaseError(f"feedback {one.id} gives {share:g} as a probability: name a key whose scores lie from 0 to 1.")
    return {"PASS": share, "FAIL": 1 - share}
