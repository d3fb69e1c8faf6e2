"""`human_labels`: what people said about runs in LangSmith, as a calibration set and a label log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from langsmith import Client

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.calibration import CalibrationSet, LabeledExample
from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.reporting.plain import distribution_text, safe_text
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow
from judgeharness_langsmith.labelled_runs import FewShot, LabelledRuns, labelled_runs, projects_of
from judgeharness_langsmith.people import SOURCES, Said, Scores, Source, verdicts_of
from judgeharness_langsmith.preparing import Prepare, default_case, prepared_case
from judgeharness_langsmith.workspace import workspace

__all__ = ["HumanLabels", "human_labels"]


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
    cases = _cases(found, prepare, values=values)
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


def _cases(found: LabelledRuns, prepare: Prepare | None, *, values: bool) -> dict[str, AnswerCase]:
    """Return run id -> its case; a run that returned nothing has none unless `prepare` makes one."""
    cases: dict[str, AnswerCase] = {}
    for run_id, run in found.runs.items():
        example = found.examples.get(str(run.reference_example_id))
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
