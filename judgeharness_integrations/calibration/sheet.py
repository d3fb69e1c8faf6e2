"""The labelling sheet of any measurements: what people label, without what the judge said about it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.calibration.answers import Answers, answers_for
from judgeharness_integrations.calibration.sheetfile import write_sheet
from judgeharness_integrations.cases import Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.structured import value_text
from judgeharness_integrations.verdictlog.row import Verdict

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Only", "case_texts", "write_labelling_sheet"]

Only: TypeAlias = Literal["all", "undecided", "abstained"]

_CHOICES: dict[Only, tuple[str, ...]] = {
    "all": ("decided", "abstained", "not_graded"),
    "undecided": ("abstained", "not_graded"),
    "abstained": ("abstained",),
}
_TEXTS = ("context", "input", "output", "output_b", "reference")
_HIDDEN = frozenset({"gold", "author", "author_b"})  # what would tell people the answer, or who wrote it
_COLUMNS = ("case_id", "criterion", "rubric", *_TEXTS, "answer", "gold")
_AT_NEED = frozenset({"rubric", "output_b"})  # columns that are left out where every cell of them is empty


def write_labelling_sheet(
    results: Iterable[HarnessResult] | Mapping[str, HarnessResult],
    path: str | PathLike[str],
    *,
    cases: Iterable[Case] = (),
    criteria: Iterable[Criterion] = (),
    only: Only = "all",
    seed: int | None = 0,
) -> Path:
    """Write a sheet for people to label, as CSV or JSONL: a line a case and criterion, its `gold` empty.

    It does not show what the judge said; `answer` says what may be written as gold.

    Args:
        results: what was measured; equal cases are labelled once.
        path: the file, `.csv` or `.jsonl`.
        cases: the measured cases, whose texts people read; without them the sheet names the cases only.
        criteria: what the judge declares (`judge.criteria`): rubrics, labels and scales for people. Without it labels
            other than PASS and FAIL or A, B and TIE may be any text.
        only: `undecided` (abstained or not graded) or `abstained` leaves the others out. Labels of those alone settle
            them; a calibration needs labels of all, or of a random share.
        seed: shuffles the lines, None keeps their order; the same seed gives the same order.

    Raises:
        UsageError: there is nothing to label, or the file's ending is another.
        CaseError: a result is of a case that is not among those given.

    """
    if only not in _CHOICES:
        raise UsageError(f"only is one of {', '.join(_CHOICES)}, not {only!r:.40}.")
    given = results.values() if isinstance(results, Mapping) else results
    results = list({result.case_id: result for result in given}.values())
    known = {case_id_of(case): case for case in cases}
    declared = {criterion.name: criterion for case in known.values() for criterion in getattr(case, "criteria", ())}
    declared |= {criterion.name: criterion for criterion in criteria}
    lines = list(_lines(results, known, declared, _CHOICES[only]))
    if not lines:
        none = f"none of {len(results)} results is {only}; only='all' writes every one"
        raise UsageError(f"there is nothing to label: {none if results else 'no result is given'}.")
    columns = [name for name in _COLUMNS if name not in _AT_NEED or any(line[name] for line in lines)]
    return write_sheet(Path(path), lines, columns, seed=seed)


def _lines(
    results: Sequence[HarnessResult],
    cases: Mapping[str, Case],
    declared: Mapping[str, Criterion],
    statuses: Container[str],
) -> Iterator[dict[str, str]]:
    said = _verdicts(results)
    written: set[tuple[str, str]] = set()
    for result in results:
        case = _case_of(result, cases)
        for name, measured in result.criteria.items():
            if measured.status not in statuses or (result.case_id, name) in written:
                continue
            written.add((result.case_id, name))
            criterion = declared.get(name)
            answers = _answers(criterion, said[name], pairwise=_is_pairwise(case, measured))
            rubric = criterion.description if criterion else ""
            named = {"case_id": result.case_id, "criterion": name, "rubric": rubric, "answer": str(answers)}
            yield dict.fromkeys(_COLUMNS, "") | case_texts(case) | named


def _verdicts(results: Iterable[HarnessResult]) -> dict[str, set[Verdict]]:
    """Return criterion -> what samples and decisions said: whether labels or numbers are asked for."""
    found: dict[str, set[Verdict]] = {}
    for result in results:
        for name, measured in result.criteria.items():
            verdicts = found.setdefault(name, set())
            if measured.numeric and "pass_at=" in result.aggregation_rule:  # people, too, say PASS or FAIL
                verdicts.update(("PASS", "FAIL"))
            else:
                verdicts.update(measured.sample_distribution)
    return found


def _case_of(result: HarnessResult, known: Mapping[str, Case]) -> Case | None:
    if known and result.case_id not in known:
        raise CaseError(f"case {result.case_id!r} is not among the cases given: give the case of every result.")
    return known.get(result.case_id)


def _is_pairwise(case: Case | None, measured: CriterionResult) -> bool:
    return isinstance(case, PairwiseCase) or any(one.swapped for one in measured.perturbations)


def _answers(criterion: Criterion | None, said: set[Verdict], *, pairwise: bool) -> Answers:
    """Return what the verdicts can be compared with, narrowed by what the judge declares."""
    found = answers_for(said, pairwise=pairwise)
    if criterion and criterion.labels and found.kind in ("words", "label", "any"):
        return Answers.of_words(criterion.labels)
    if criterion and criterion.scale and found.kind in ("number", "any"):
        return Answers(kind="number", scale=criterion.scale)
    return found


def case_texts(case: Case | None) -> dict[str, str]:
    """Return the texts of a case that people read; of a case of the caller's own kind its content."""
    if case is None or isinstance(case, str):
        return {"output": case or ""}
    values = {name: case.get(name) if isinstance(case, Mapping) else getattr(case, name, None) for name in _TEXTS}
    texts = {name: value_text(value) for name, value in values.items() if value is not None}
    if not texts and isinstance(case, Mapping):
        case = {name: value for name, value in case.items() if name not in _HIDDEN}
    return texts or {"output": value_text(case)}
