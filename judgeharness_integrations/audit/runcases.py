"""The cases of a run for people to label: their texts, what was asked about them, and which have no decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.calibration.answers import Answers, answers_for
from judgeharness_integrations.casefiles import CaseFile, read_cases
from judgeharness_integrations.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.labelling.questions import Question, questions
from judgeharness_integrations.reporting.runs.jsonlines import json_lines
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict, is_number, verdict_from_json
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, RESULTS, log_of, read_mark

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.sql.records import RunRecord

__all__ = ["Only", "RunCases", "is_run", "plain_questions", "read_run_cases"]

Only: TypeAlias = Literal["all", "abstained", "not_graded"]

_ONLY = "verdict"
_ABOVE = 4  # folders above the run's in which its case file is looked for


@dataclass(frozen=True, kw_only=True)
class RunCases:
    """What a run judged.

    Args:
        cases: with their texts.
        said: criterion -> every verdict of any judge about any case: what answers are like, nobody's in particular.
        statuses: case id -> criterion -> how it ended, for each judge; of `*` for every criterion.

    """

    cases: Sequence[AnswerCase]
    said: Mapping[str, frozenset[Verdict]] = field(default_factory=dict)
    statuses: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)

    def ended(self, case_id: str, criterion: str) -> frozenset[str]:
        """Return how a criterion of a case ended: `decided`, `abstained` and `not_graded`, whichever judges had."""
        found = self.statuses.get(case_id, {})
        return found.get(criterion, frozenset()) | found.get(EVERY_CRITERION, frozenset())


def is_run(folder: Path) -> bool:
    """Whether a run stands in a folder, finished or not."""
    return any((folder / name).is_file() for name in (RESULTS, LOG))  # a mark's name is that of many configurations


def plain_questions(
    found: RunCases,
    *,
    annotator: str,
    criteria: Sequence[str] = (),
    answers: Answers | None = None,
    only: Only = "all",
    seed: int = 0,
) -> list[Question]:
    """Return what an annotator is asked about cases, in an order and with answers in places drawn for them.

    Args:
        found: the cases, of a run or alone.
        annotator: who is asked.
        criteria: what is asked about; what the run's judges were asked, else `verdict`, where none is named.
        answers: what may be said; when None what can be compared with what the judges said.
        only: `abstained` or `not_graded` leaves out what ended otherwise for every judge.
        seed: draws order and places; they do not depend on what is left out.

    Raises:
        UsageError: nothing is left to label.

    """
    names = list(dict.fromkeys(criteria)) or list(found.said) or [_ONLY]
    asked = [
        questions(
            found.cases,
            annotator=annotator,
            criteria=[Criterion(name=name)],
            answers=answers or _answers(found, name),
            seed=seed,
        )
        for name in names
    ]
    about = {question.key: question for row in zip(*asked, strict=True) for question in row}
    kept = [question for key, question in about.items() if only == "all" or only in found.ended(*key)]
    if not kept:
        raise UsageError(f"none of {len(about)} questions is about a case that ended {only}: leave out --only.")
    return kept


def read_run_cases(folder: Path, cases: Path | None = None) -> RunCases:
    """Return what the run in a folder judged.

    Args:
        folder: what `judgeharness run --out` wrote.
        cases: the case file, where it is not the one the run was given, or not where it stood then.

    Raises:
        UsageError: the folder holds no results, or its cases are not found.

    """
    documents = list(json_lines(folder / RESULTS))
    record = _record(folder)
    known, is_whole = _cases(folder, cases, record)
    statuses = _statuses(documents, judges=_judges(folder, documents), cases=[case.case_id for case in known])
    judged = {document["case_id"] for document in documents}
    chosen = [case for case in known if is_whole or case.case_id in judged]
    if not chosen:
        raise UsageError(f"none of the {len(judged)} cases of {folder} is in {cases}: give the cases that were judged.")
    return RunCases(cases=chosen, said=_said(documents), statuses=statuses)


def _answers(found: RunCases, criterion: str) -> Answers | None:
    """Return what can be compared with what the judges said; None where they said nothing."""
    said = found.said.get(criterion)
    pairwise = any(isinstance(case, PairwiseCase) for case in found.cases)
    return answers_for(said, pairwise=pairwise) if said else None


def _said(documents: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[Verdict]]:
    said: dict[str, set[Verdict]] = {}
    for document in documents:
        threshold = "pass_at=" in (document.get("design", {}).get("rule") or "")
        for name, measured in document["criteria"].items():
            read = [verdict_from_json(entry["verdict"]) for entry in measured["sample_distribution"]]
            verdicts = [verdict for verdict in read if verdict is not None]
            numeric = threshold and any(map(is_number, verdicts))  # people, too, say PASS or FAIL
            said.setdefault(name, set()).update(("PASS", "FAIL") if numeric else verdicts)
    return {name: frozenset(verdicts) for name, verdicts in said.items()}


def _statuses(
    documents: Iterable[Mapping[str, Any]], *, judges: Iterable[str], cases: Iterable[str]
) -> dict[str, dict[str, frozenset[str]]]:
    """Return how every criterion of every case ended; a judge's case without a result was not graded."""
    found: dict[str, dict[str, set[str]]] = {}
    missing = {(judge, case_id) for judge in judges for case_id in cases}
    for document in documents:
        missing.discard((document["judge"], document["case_id"]))
        for name, measured in document["criteria"].items():
            found.setdefault(document["case_id"], {}).setdefault(name, set()).add(measured["status"])
    for _, case_id in missing:
        found.setdefault(case_id, {}).setdefault(EVERY_CRITERION, set()).add("not_graded")
    return {case: {name: frozenset(ended) for name, ended in mine.items()} for case, mine in found.items()}


def _judges(folder: Path, documents: Iterable[Mapping[str, Any]]) -> list[str]:
    planned = read_mark(folder / MARK).get("planned_cases") if (folder / MARK).is_file() else None
    judged = [str(document["judge"]) for document in documents]
    return list(dict.fromkeys([*(planned if isinstance(planned, Mapping) else ()), *judged]))


def _record(folder: Path) -> RunRecord | None:
    """Return what the log knows of the run; None where the log is gone or out of reach."""
    from judgeharness_integrations.verdictlog.sql.log import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

    try:
        log = log_of(folder)
        if "://" not in str(log) and not Path(log).is_file():
            return None
        run = str(read_mark(folder / MARK).get("run")) if (folder / MARK).is_file() else None
        with SqlLog(log, create=False) as opened:
            records = [record for record in opened.records() if run in (None, record.run)]
    except JudgeHarnessError:
        return None
    return records[-1] if records else None


def _cases(folder: Path, given: Path | None, record: RunRecord | None) -> tuple[list[AnswerCase], bool]:
    """Return the cases of a file, and whether they are exactly those of the run."""
    digest = None if record is None else record.parts.get("cases", {}).get("content")
    if given is not None:
        return read_cases(given), CaseFile(given).check().digest == digest
    named = None if record is None else record.config.get("cases")
    if not named:
        raise UsageError(f"which cases {folder} judged is not noted there: give them as --cases FILE.")
    there = [path for path in _places(str(named), folder) if path.is_file() and path.suffix.lower() != ".json"]
    same = next((path for path in there if CaseFile(path).check().digest == digest), None)
    if same is not None:
        return read_cases(same), True
    what = f"{there[0]} is not what it was then" if there else f"{named} is not found from here"
    raise UsageError(f"{folder} judged the cases of {named}, and {what}: give them as --cases FILE.")


def _places(named: str, folder: Path) -> Iterator[Path]:
    """Yield where a case file may stand: configurations name it from their own folder, which older runs do not note."""
    absolute = folder.absolute()
    noted = read_mark(folder / MARK).get("configured_in") if (folder / MARK).is_file() else None
    known = [folder.resolve() / noted] if isinstance(noted, str) else []
    for start in (*known, Path(), absolute, *list(absolute.parents)[:_ABOVE]):
        yield start / Path(named).expanduser()
