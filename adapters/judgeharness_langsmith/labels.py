"""`human_labels`: what people said about runs in LangSmith, as a calibration set and a label log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from langsmith import Client
from langsmith.run_trees import get_cached_client
from langsmith.schemas import Dataset, Example, Feedback, Run, TracerSession
from langsmith.utils import LangSmithNotFoundError

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.calibrating import CalibrationSet, LabeledExample
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.verdictlog.encoding import distribution_text, safe_text
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow, is_number

from ._seams import runs_by_id
from .evaluating import Prepare, default_case, prepared_case

Scores: TypeAlias = Literal["labels", "numbers"]
Source: TypeAlias = Literal["app", "api"]

SOURCES: tuple[Source, ...] = ("app",)
_KNOWN_SOURCES = frozenset({"app", "api"})
_CORRECTION = "correction"


@dataclass(frozen=True, kw_only=True)
class Said:
    """What one person said about one run: a score, a text, or both. `who` identifies the person, `name` is read."""

    run_id: str
    who: str
    name: str
    score: float | None
    text: str | None
    feedback: Feedback


def said_by_people(feedback: Iterable[Feedback], sources: Collection[str] = SOURCES) -> tuple[list[Said], Counter[str]]:
    """Return what people said of one key, and reason -> how much feedback was left out.

    Of what one person said about a run the last counts. A correction stands for what it corrects; LangSmith does not
    tell who made it, so that corrections of a model's feedback are of one annotator, `correction`. Feedback of an
    application that names no user is of one annotator, too.

    Args:
        feedback: of one key, in any order.
        sources: where people give it: `app` (LangSmith's pages) and `api` (an application, not an evaluator's run).

    """
    if strange := set(sources) - _KNOWN_SOURCES:
        raise UsageError(f"sources holds {min(map(str, strange))!r}: people's feedback is of 'app' or 'api'.")
    skipped: Counter[str] = Counter()
    last: dict[tuple[str, str], Said] = {}
    for one in sorted(feedback, key=lambda one: (one.modified_at, one.created_at)):
        said = _label_of(one, sources)
        if isinstance(said, str):
            skipped[said] += 1
            continue
        skipped["replaced by the same person later"] += (said.run_id, said.who) in last
        last[said.run_id, said.who] = said
    return _with_distinct_names(list(last.values())), +skipped


def _label_of(one: Feedback, sources: Collection[str]) -> Said | str:
    """Return what a person said, or why it is not a label of a run."""
    if one.run_id is None:
        return "on no run"
    if one.comparative_experiment_id is not None or one.feedback_group_id is not None:
        return "from a comparison of runs"
    source, person = one.feedback_source, _is_person(one, sources)
    score, text = _content(_corrected(one.correction))
    if (score, text) == (None, None):
        if not person:
            return "not from a person"
        score, text = _content({"score": one.score, "value": one.value})
    if (score, text) == (None, None):
        return "without score and value"
    ids = (source.user_id, source.user_name, source.type) if source is not None and person else (_CORRECTION,)
    who = next(str(name) for name in ids if name)
    name = str(source.user_name or who) if source is not None and person else who
    return Said(run_id=str(one.run_id), who=who, name=name, score=score, text=text, feedback=one)


def _is_person(one: Feedback, sources: Collection[str]) -> bool:
    return one.feedback_source is not None and one.feedback_source.type in sources and source_run(one) is None


def source_run(one: Feedback) -> str | None:
    """Return the run of the evaluator that gave the feedback."""
    run = ((one.feedback_source and one.feedback_source.metadata) or {}).get("__run")
    return str(run["run_id"]) if isinstance(run, Mapping) and run.get("run_id") else None


def _corrected(correction: Any) -> Mapping[str, Any]:
    return correction if isinstance(correction, Mapping) else {"value": correction}


def _content(given: Mapping[str, Any]) -> tuple[float | None, str | None]:
    score, value = given.get("score"), given.get("value")
    if score is None and not isinstance(value, str):
        score = value
    score = int(score) if isinstance(score, bool) else score
    text = value.strip() if isinstance(value, str) and value.strip().upper() != ABSTAIN else None
    return score if is_number(score) else None, text or None


def _with_distinct_names(said: Sequence[Said]) -> list[Said]:
    """Return what was said with the id behind the names that several people share."""
    shared = Counter(name for name, _ in {(one.name, one.who) for one in said})
    return [replace(one, name=f"{one.name} ({one.who})") if shared[one.name] > 1 else one for one in said]


def verdicts_of(said: Sequence[Said], scores: Scores | None) -> list[Verdict | None]:
    """Return what was said as labels or numbers, all of one kind; None where it is not of the kind asked for.

    Texts are labels where everybody gave one; otherwise scores count: PASS and FAIL when all of them are 1 or 0,
    numbers when not.

    Args:
        said: what people said.
        scores: read scores, and no texts: as `labels` (1 is PASS, 0 is FAIL) or as `numbers`.

    Raises:
        CaseError: some gave texts and others scores, or a score that is to be a label is neither 0 nor 1.

    """
    if scores not in (None, "labels", "numbers"):
        raise UsageError(f"scores is 'labels' or 'numbers', not {scores!r}.")
    if scores is None and all(one.text is not None for one in said):
        return [one.text for one in said]
    if scores is None and any(one.score is None for one in said):
        raise CaseError("some people gave a text, others a score: say scores='labels' or 'numbers' to read the scores.")
    given = [one.score for one in said if one.score is not None]
    binary = set(given) <= {0, 1}
    if scores == "labels" and not binary:
        odd = next(score for score in given if score not in (0, 1))
        raise CaseError(f"a score of {odd:g} is no label: with scores='labels' 1 is PASS and 0 is FAIL.")
    if scores == "numbers" or not binary:
        return [one.score for one in said]
    return [None if one.score is None else "PASS" if one.score else "FAIL" for one in said]


_MOST = 100  # ids a request


def workspace(client: Client | None) -> Client:
    """Return the client given, or the process's own, which `evaluate` and tracing use without one.

    What it was given before is uploaded then: runs and feedback that were just made may be on their way still.
    """
    client = get_cached_client() if client is None else client
    client.flush()
    return client


def as_id(text: object) -> str | None:
    """Return an id in LangSmith's spelling, None for what is no id."""
    try:
        return str(UUID(str(text)))
    except ValueError:
        return None


def project_of(client: Client, name: str) -> TracerSession:
    """Return a project (an experiment is one, too) by name or id.

    Raises:
        UsageError: there is none.

    """
    project: TracerSession = _named(client, "project", name)
    return project


def dataset_of(client: Client, name: str) -> Dataset:
    """Return a dataset by name or id.

    Raises:
        UsageError: there is none.

    """
    dataset: Dataset = _named(client, "dataset", name)
    return dataset


def _named(client: Client, kind: Literal["project", "dataset"], name: str) -> Any:
    found = as_id(name)
    try:
        return getattr(client, f"read_{kind}")(**{f"{kind}_id": found} if found else {f"{kind}_name": name})
    except LangSmithNotFoundError as error:
        raise UsageError(f"LangSmith knows no {kind} {name!r}: give the name or id of one.") from error


def examples_by_id(
    client: Client, example_ids: Iterable[str], *, as_of: datetime | str | None = None
) -> Iterator[Example]:
    """Yield the examples of these ids that there are, as they were then."""
    wanted: Sequence[str] = list(example_ids)
    for start in range(0, len(wanted), _MOST):
        yield from client.list_examples(example_ids=wanted[start : start + _MOST], as_of=as_of)


@dataclass(frozen=True, kw_only=True)
class FewShot:
    """What stands in the judge's prompt: ids of runs, of examples and of evaluator runs whose verdict was corrected.

    `unlinked` counts the few-shot examples that do not say which run they were made of.
    """

    ids: frozenset[str]
    unlinked: int = 0

    @classmethod
    def of(cls, client: Client, exclude: Iterable[str | UUID], dataset: str | None) -> FewShot:
        """Return the ids given and those of a dataset of few-shot examples.

        Raises:
            UsageError: `exclude` holds what is no id, or LangSmith knows no such dataset.

        """
        given = {one: as_id(one) for one in ([exclude] if isinstance(exclude, (str, UUID)) else exclude)}
        for one, known in given.items():
            if known is None:
                raise UsageError(f"exclude holds {one!r:.60}: give the ids of runs or examples.")
        ids = {known for known in given.values() if known is not None}
        if dataset is None:
            return cls(ids=frozenset(ids))
        shown = list(client.list_examples(dataset_id=dataset_of(client, dataset).id))
        ids.update(str(example.id) for example in shown)
        ids.update(str(example.source_run_id) for example in shown if example.source_run_id is not None)
        return cls(ids=frozenset(ids), unlinked=sum(example.source_run_id is None for example in shown))


@dataclass(frozen=True, kw_only=True)
class LabelledRuns:
    """What people said, the runs they said it of, those runs' examples by their id, and what was left out."""

    said: list[Said] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    examples: dict[str, Example] = field(default_factory=dict)
    excluded: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def projects_of(client: Client, project: str | None, dataset: str | None) -> Sequence[TracerSession]:
    """Return a project, or every experiment on a dataset.

    Raises:
        UsageError: both or neither are given, or LangSmith does not know it.

    """
    if (project is None) == (dataset is None):
        raise UsageError("give either project= or dataset=, whose runs people labelled.")
    if project is not None:
        return [project_of(client, project)]
    found = dataset_of(client, str(dataset))
    return list(client.list_projects(reference_dataset_id=found.id))


def labelled_runs(
    client: Client, projects: Iterable[TracerSession], *, key: str, sources: Collection[str], few_shot: FewShot
) -> LabelledRuns:
    """Read what people said under a key about the runs of projects; few-shot examples are left out."""
    gathered = LabelledRuns()
    for project in projects:
        _gather(client, project, gathered, key=key, sources=sources, few_shot=few_shot)
    return gathered


def _gather(
    client: Client,
    project: TracerSession,
    gathered: LabelledRuns,
    *,
    key: str,
    sources: Collection[str],
    few_shot: FewShot,
) -> None:
    feedback = list(client.list_feedback(feedback_key=[key], session=[str(project.id)], include_user_names=True))
    said, skipped = said_by_people(feedback, sources)
    gathered.skipped.update(skipped)
    evaluated_by: dict[str, set[str]] = {}
    for one in feedback:
        evaluated_by.setdefault(str(one.run_id), set()).add(source_run(one) or "")
    known = runs_of(client, project, (one.run_id for one in said), gathered.skipped)
    for run_id, run in known.items():
        if few_shot.ids & {run_id, str(run.reference_example_id), *evaluated_by[run_id]}:
            gathered.excluded.append(run_id)
        else:
            gathered.runs[run_id] = run
    gathered.said.extend(one for one in said if one.run_id in gathered.runs)
    gathered.examples.update(examples_of(client, project, gathered.runs.values()))


def runs_of(client: Client, project: TracerSession, run_ids: Iterable[str], skipped: Counter[str]) -> dict[str, Run]:
    """Return the runs of a project by id, and count feedback on runs that there are no more."""
    asked = Counter(run_ids)
    runs = {str(run.id): run for run in runs_by_id(client, list(asked), project=project)}
    skipped["on a run LangSmith no longer has"] += sum(count for one, count in asked.items() if one not in runs)
    return runs


def examples_of(client: Client, project: TracerSession, runs: Iterable[Run]) -> dict[str, Example]:
    """Return the examples of runs of a project by id, as they were then."""
    ids = sorted({str(run.reference_example_id) for run in runs if run.reference_example_id is not None})
    found = examples_by_id(client, ids, as_of=project.metadata.get("dataset_version"))
    return {str(example.id): example for example in found}


@dataclass(frozen=True, kw_only=True)
class HumanLabels:
    """What people said about runs of a project or dataset.

    `calibration_set` holds a case a run with the labels of its annotators; `rows` is the label log: a row a label,
    `judge` the annotator. `excluded` are the runs left out as few-shot examples, `skipped` maps a reason to how much
    feedback it left out, and `unlinked` counts examples of `exclude_dataset` that do not say what they were made of.
    """

    calibration_set: CalibrationSet
    rows: tuple[VerdictRow, ...] = field(repr=False)
    excluded: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    unlinked: int = 0

    @property
    def annotators(self) -> tuple[str, ...]:
        """Who gave the labels."""
        return tuple(dict.fromkeys(row.judge for row in self.rows))

    def __str__(self) -> str:
        """Return what there is and what was left out, for people."""
        golds = Counter(row.verdict for row in self.rows if row.verdict is not None)
        sizes = f"{len(self.calibration_set.cases)} runs, {len(self.rows)} labels of {len(self.annotators)} annotators"
        lines = [f"{safe_text(self.calibration_set.name)}: {sizes} {distribution_text(golds)}"]
        if self.excluded:
            lines.append(f"excluded as few-shot examples: {len(self.excluded)} runs")
        if self.unlinked:
            lines.append(f"not excluded: what {self.unlinked} few-shot examples were made of, which they do not say")
        if self.skipped:
            lines.append(f"left out: {_counts(self.skipped)}")
        return "\n".join(lines)


def human_labels(
    *,
    client: Client | None = None,
    key: str,
    project: str | None = None,
    dataset: str | None = None,
    prepare: Prepare | None = None,
    values: bool = False,
    criterion: str | None = None,
    scores: Scores | None = None,
    sources: Collection[Source] = SOURCES,
    exclude: Iterable[str | UUID] = (),
    exclude_dataset: str | None = None,
    positive: str | None = None,
    name: str | None = None,
) -> HumanLabels:
    """Read people's feedback on runs, and their corrections of an evaluator's feedback.

    A case is what a run was asked and gave, under the id it has in `HarnessRunEvaluator.results`: equal outputs of
    several runs are one case, other outputs for the same example another. A correction beats what it corrects, and a
    person's later feedback the earlier.

    Args:
        client: of LangSmith; the process's own when None.
        key: the feedback key people labelled, and whose scores they corrected.
        project: name or id of a project or experiment.
        dataset: name or id of a dataset instead: the runs of all its experiments.
        prepare: (run, example) -> the case, as for `HarnessRunEvaluator`, also its default.
        values: without `prepare`, keep inputs and outputs as they are, for judges that take values (openevals).
        criterion: the judge's name of the question; needed where it answers several.
        scores: read scores, and no texts: as `labels` (1 is PASS, 0 is FAIL) or as `numbers`. By default texts are
            labels where everybody gave one; scores are PASS and FAIL when all are 1 or 0, otherwise numbers.
        sources: where people's feedback comes from: `app` are LangSmith's pages. Add `api` for what your application
            sends for its users; scores that tests and scripts compute come from there, too.
        exclude: ids of runs or examples that stand in the judge's prompt as few-shot examples.
        exclude_dataset: name or id of the dataset of few-shot examples: runs they were made of, runs of them, and
            runs whose evaluation they correct are left out.
        positive: the label precision and recall are about.
        name: what reports call the label set; the key and where it is from when None.

    Raises:
        UsageError: project and dataset are both given or both missing, or LangSmith does not know one.
        CaseError: nobody labelled a run, labels are of two kinds, or a run cannot be made a case of.

    """
    client = workspace(client)
    few_shot = FewShot.of(client, exclude, exclude_dataset)
    found = labelled_runs(client, projects_of(client, project, dataset), key=key, sources=sources, few_shot=few_shot)
    cases = cases_of(found.runs, found.examples, prepare, values=values)
    rows = _rows(found, cases, scores, criterion or key)
    where = f"{key} of {project or dataset}"
    skipped = +found.skipped
    if not rows:
        why = f"{_counts(skipped) or 'no feedback'}; {len(found.excluded)} runs excluded"
        raise CaseError(f"no label under {where!r} ({why}): label runs in LangSmith, or name the key people used.")
    return HumanLabels(
        calibration_set=CalibrationSet(name or where, _examples(rows, cases, criterion), positive=positive),
        rows=rows,
        excluded=tuple(found.excluded),
        skipped=dict(skipped),
        unlinked=few_shot.unlinked,
    )


def cases_of(
    runs: Mapping[str, Run], examples: Mapping[str, Example], prepare: Prepare | None, *, values: bool
) -> dict[str, AnswerCase]:
    """Return run id -> its case; a run that returned nothing has none unless `prepare` makes one."""
    cases: dict[str, AnswerCase] = {}
    for run_id, run in runs.items():
        example = examples.get(str(run.reference_example_id))
        if prepare is not None:
            cases[run_id] = prepared_case(prepare(run, example))
        elif run.outputs:
            cases[run_id] = default_case(run, example, values=values)
    known: dict[str, AnswerCase] = {}
    for case in cases.values():
        if known.setdefault(case.case_id, case).texts() != case.texts():
            raise CaseError(f"prepare calls different outputs {case.case_id!r}: leave case_id out.")
    return cases


def _rows(
    found: LabelledRuns, cases: Mapping[str, AnswerCase], scores: Scores | None, criterion: str
) -> tuple[VerdictRow, ...]:
    said = [one for one in found.said if one.run_id in cases]
    found.skipped["on a run without outputs"] += len(found.said) - len(said)
    rows: dict[tuple[str, str], VerdictRow] = {}
    for one, verdict in sorted(zip(said, verdicts_of(said, scores), strict=True), key=_when):
        if verdict is None:
            found.skipped["without a score"] += 1
            continue
        place = (cases[one.run_id].case_id, one.name)
        found.skipped["replaced by the same person later, on an equal output"] += place in rows
        rows[place] = VerdictRow(
            case_id=cases[one.run_id].case_id,
            judge=one.name,
            criterion=criterion,
            verdict=verdict,
            reasoning=one.feedback.comment,
            asked_at=one.feedback.modified_at.isoformat(),
            attributes={"run_id": one.run_id, "feedback_id": str(one.feedback.id)},
        )
    return tuple(rows.values())


def _when(labelled: tuple[Said, Verdict | None]) -> datetime:
    return labelled[0].feedback.modified_at


def _examples(
    rows: Sequence[VerdictRow], cases: Mapping[str, AnswerCase], criterion: str | None
) -> tuple[LabeledExample, ...]:
    """Return each case with its labels, under the criterion's name where one is given."""
    golds: dict[str, list[Verdict | None]] = {}
    for row in rows:
        golds.setdefault(row.case_id, []).append(row.verdict)
    once = {case.case_id: case for case in cases.values()}
    labelled = [(case, golds[case_id]) for case_id, case in once.items() if case_id in golds]
    return tuple((case, gold if criterion is None else {criterion: gold}) for case, gold in labelled)


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counted.items())
