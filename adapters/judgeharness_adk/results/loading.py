"""What an evaluation left behind, read back: `load_results`, and the sheet on which people label it."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, overload

from google.adk.evaluation.eval_result import EvalSetResult
from pydantic import Field

from judgeharness_adk.outcomes import SCHEMA, SUFFIX
from judgeharness_integrations import HarnessResult
from judgeharness_integrations._errors import CaseError, ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import RULE_NAMES, RuleLike
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.calibration.items import graded_label
from judgeharness_integrations.analysis.calibration.saved import last_asked
from judgeharness_integrations.analysis.document import RESULT_SCHEMA
from judgeharness_integrations.analysis.fingerprint import Fingerprint
from judgeharness_integrations.analysis.result import COUNTS_ALONE
from judgeharness_integrations.judging.calibrating import CalibrationSet, calibration_report
from judgeharness_integrations.labelling import resultsheets as sheetfile
from judgeharness_integrations.labelling.resultsheets import cell_text, golds_in
from judgeharness_integrations.verdictlog import VerdictRow, write_log
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.shapes import Shape, Text, misplaced

from .overview import RubricVariance, overview, rubric_variances
from .records import ENDING, AdkResult, Turn, files_below, project_of, read_history, told_results, turns_of

if TYPE_CHECKING:
    from os import PathLike

_SHEET_PLACE = ("case_id", "app", "eval_set_id", "eval_id", "run", "turn", "invocation_id", "metric", "criterion")
_TEXTS = ("rubric", "context", "input", "output", "reference")
COLUMNS = (*_SHEET_PLACE, *_TEXTS, "gold")


class Label(NamedTuple):
    """What one annotator says about one rubric of one case; `metric` is empty where the sheet names none."""

    case_id: str
    criterion: str
    metric: str
    gold: str


def write_sheet(results: Sequence[AdkResult], path: Path, *, seed: int | None) -> Path:
    """Write the sheet; see `AdkResults.write_labelling_sheet`."""
    lines = [line for one in results for line in _lines(one)]
    if not lines:
        raise UsageError("there is nothing to label: no measurement is of a rubric of its metric's own criterion.")
    return sheetfile.write_sheet(path, lines, COLUMNS, seed=seed)


def _lines(one: AdkResult) -> Iterator[dict[str, Any]]:
    known = {name: getattr(one, name, None) for name in COLUMNS} | {"case_id": one.result.case_id, "gold": ""}
    for rubric in one.standing:
        if rubric in one.result.criteria:
            yield known | {"criterion": rubric, "rubric": one.rubrics.get(rubric) or ""}


def read_sheet(path: Path) -> list[Label]:
    """Return the labels of a filled sheet; lines without gold are left out.

    Raises:
        CaseError: it cannot be read, lacks a column, holds another word than PASS and FAIL, or no gold.

    """
    labels: list[Label] = []
    for where, cells in sheetfile.read_sheet(path, required=("case_id", "criterion", "gold")):
        case_id, criterion, metric = (cell_text(cells.get(name)) for name in ("case_id", "criterion", "metric"))
        for said in golds_in(cells):
            if (label := graded_label(said)) is None:
                raise CaseError(
                    f"{where}: gold {safe_text(said, 40)!r} is neither PASS nor FAIL (yes/no, true/false, 1/0)."
                )
            labels.append(Label(case_id, criterion, metric, label))
    if not labels:
        raise CaseError(f"{path}: no gold is filled in: write PASS or FAIL into its column gold.")
    return labels


def calibrated(
    results: Sequence[AdkResult],
    path: Path,
    *,
    metric: str | None,
    name: str | None,
    source: str,
    positive: str,
) -> CalibrationReport:
    """Return the calibration of one metric; see `AdkResults.calibrate`."""
    if positive not in ("PASS", "FAIL"):
        raise UsageError(f"positive is PASS or FAIL, not {positive!r:.40}.")
    # what was not asked to the end says nothing about the rule
    chosen = [one for one in _of_metric(results, metric) if one.result.state == "complete"]
    if chosen and all(one.result.counts_alone for one in chosen):
        raise UsageError("nothing can be calibrated: the measurements are in no sidecar, so their design is unknown.")
    given = [label for label in read_sheet(path) if metric is None or label.metric in ("", metric)]
    labels = _matching(given, chosen, path)
    labelled = [one for one in chosen if one.result.case_id in labels]
    _check_configuration(labelled)
    return calibration_report(
        [one.result for one in labelled],
        CalibrationSet(
            name or path.name.split(".")[0],
            [({"case_id": case_id}, golds) for case_id, golds in labels.items()],
            source=source,
            positive=positive,
        ),
        judge=labelled[0].result.judge,
        parts=labelled[0].parts,
        measured_at=last_asked(row for one in labelled for row in one.result.rows)
        or datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _of_metric(results: Sequence[AdkResult], metric: str | None) -> list[AdkResult]:
    known = dict.fromkeys(one.metric for one in results)
    if metric is not None and metric not in known:
        raise UnknownNameError("metric", metric, known)
    if metric is None and len(known) > 1:
        raise UsageError(f"there are measurements of {len(known)} metrics ({', '.join(known)}): name one with metric=.")
    return [one for one in results if metric is None or one.metric == metric]


def _matching(labels: Sequence[Label], results: Sequence[AdkResult], path: Path) -> dict[str, dict[str, list[str]]]:
    """Return case -> rubric -> labels of the measured rubrics that belong to their metric's criterion."""
    measured = {
        (one.result.case_id, rubric): one.metric
        for one in results
        for rubric in one.standing
        if rubric in one.result.criteria
    }
    matching: dict[str, dict[str, list[str]]] = {}
    unknown = 0
    for label in labels:
        metric = measured.get((label.case_id, label.criterion))
        if metric is not None and label.metric in ("", metric):
            matching.setdefault(label.case_id, {}).setdefault(label.criterion, []).append(label.gold)
        else:
            unknown += 1
    if not matching:
        raise CaseError(
            f"{path}: none of its {len(labels)} labels is of a measured rubric: take the sheet of these results, and "
            "leave case_id, metric and criterion as they are."
        )
    if unknown:
        _LOGGER.warning(
            "%s: %d of %d labels are of no measured rubric and count for nothing", path, unknown, len(labels)
        )
    return matching


def _check_configuration(results: Sequence[AdkResult]) -> None:
    last = results[-1]
    others = [one for one in results if one.fingerprint != last.fingerprint]
    if others:
        changes = dict.fromkeys(
            name for one in others for name in Fingerprint(one.parts or {}).changes(last.parts or {})
        )
        raise UsageError(
            f"the labelled measurements are of {len({one.fingerprint for one in results})} configurations "
            f"({safe_text(', '.join(changes), 200)} changed): keep those of one, as with "
            "results.filter(lambda one: one.fingerprint == results[-1].fingerprint)."
        )


_TOLD = 5  # damaged lines of a file that have a note of their own


class _Line(Shape):
    metric: Annotated[Text, Field(min_length=1)]
    invocation_id: Text
    rubrics: dict[Text, Text | None]
    standing: list[Text]
    result: dict[str, Any]
    parts: dict[str, Any] | None = None
    input: Text | None = None
    output: Text | None = None


class _DamageError(Exception):
    """A line is no measurement; the text says why."""


def read_sidecars(paths: Iterable[Path], rules: Mapping[str, RuleLike]) -> tuple[list[AdkResult], list[str]]:
    """Return the measurements of sidecar files, and what is to be known about the files.

    A line that is there twice counts once. An invocation that was judged again by the same metric has its last
    measurement: that of the later file, and in a file of the later line. What is damaged is skipped and noted.

    Raises:
        ConfigError: a line is of another schema, or was folded by a rule that is not known; file and line are named.

    """
    kept: dict[tuple[str, str], AdkResult] = {}
    notes: list[str] = []
    seen: set[bytes] = set()
    replaced = 0
    for path in paths:
        problems: list[str] = []
        for one in _measurements(path, rules, seen, problems):
            key = (one.metric, one.result.case_id)
            replaced += kept.pop(key, None) is not None
            kept[key] = one
        notes += (f"{problem}, and was skipped" for problem in problems[:_TOLD])
        if len(problems) > _TOLD:
            notes.append(f"{path}: {len(problems) - _TOLD} more of its lines are damaged and were skipped")
    if replaced:
        notes.append(f"{replaced} measurements were replaced by later ones of the same invocation and metric")
    return list(kept.values()), notes


def _measurements(
    path: Path, rules: Mapping[str, RuleLike], seen: set[bytes], problems: list[str]
) -> Iterator[AdkResult]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                digest = hashlib.sha256(line.strip()).digest()
                if not line.strip() or digest in seen:
                    continue
                seen.add(digest)
                where = f"{path}, line {number}"
                try:
                    yield _measurement(_document(line), where, rules)
                except _DamageError as error:
                    problems.append(f"{where}: {error}")
    except OSError as error:
        problems.append(f"{path}: cannot be read ({error.strerror or error})")


def _document(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            raise _DamageError("is cut off, as when a process is killed") from error
        raise _DamageError(f"is not JSON ({safe_text(str(error), 120)})") from error


def _measurement(data: Any, where: str, rules: Mapping[str, RuleLike]) -> AdkResult:
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        found = safe_text(repr(schema), 60)
        if _other_version(schema, SCHEMA):
            raise ConfigError(
                f"{where}: is of schema {found}, and this version reads {SCHEMA}: use the version that wrote it."
            )
        raise _DamageError(f"is not of schema {SCHEMA} (found {found})")
    if misfit := misplaced(_Line, data):
        raise _DamageError(f"is damaged, its {misfit!r} is not what a measurement holds there")
    return AdkResult(
        result=_result(data["result"], where, rules),
        metric=data["metric"],
        invocation_id=data["invocation_id"],
        rubrics=data["rubrics"],
        standing=tuple(data["standing"]),
        parts=data.get("parts"),
        input=data.get("input"),
        output=data.get("output"),
    )


def _result(document: Mapping[str, Any], where: str, rules: Mapping[str, RuleLike]) -> HarnessResult:
    name = document.get("aggregation_rule")
    try:
        result = HarnessResult.from_dict(document, rule=rules.get(name) if isinstance(name, str) else None)
    except ConfigError as error:
        if _other_version(document.get("schema"), RESULT_SCHEMA) or _of_unknown_rule(document):
            raise ConfigError(f"{where}: {error}") from error
        raise _DamageError(str(error).rstrip(".")) from error
    if any((row.case_id, row.judge) != (result.case_id, result.judge) for row in result.rows):
        raise _DamageError("is damaged, its rows are of another case or judge than its result")
    return result


def _other_version(schema: object, known: str) -> bool:
    return isinstance(schema, str) and schema != known and schema.startswith(known.rpartition("/")[0] + "/")


def _of_unknown_rule(document: Mapping[str, Any]) -> bool:
    """Whether a result may be whole, and a function of the caller's or a newer version is what reads it."""
    design = document.get("design")
    rule = design.get("rule", 0) if isinstance(design, dict) else 0
    return rule is None or (isinstance(rule, str) and rule.partition("(")[0].strip() not in RULE_NAMES)


def joined_results(
    path: Path, history: Path | None, rules: Mapping[str, RuleLike]
) -> tuple[tuple[AdkResult, ...], tuple[str, ...]]:
    """Return the measurements below a path, and what is to be known about the files; see `load_results`."""
    one_of_adk = path.is_file() and path.name.endswith(ENDING)
    results, notes = ([], []) if one_of_adk else read_sidecars(_found(path, SUFFIX), rules)
    where = history or (path if one_of_adk else project_of(path))
    histories, problems = _histories(where)
    turns = turns_of(histories)
    joined = [_joined(one, turns) for one in results]
    if one_of_adk or path.is_dir():  # one sidecar is what was asked for
        told, more = _from_rationales(histories, results, rules)
        results, joined, problems = [*results, *told], [*joined, *told], [*problems, *more]
    if not results and notes:
        raise ConfigError(f"{path}: no measurement is left: {notes[0]}.")
    if not results:
        raise UsageError(
            f"{path}: no measurements (*{SUFFIX}, or *{ENDING} with their lines) are here: give the folder in which "
            "`adk eval` ran with judgeharness_adk.register(), or the directory named by the `sidecar` of judge_harness."
            " A metric that was not measured leaves none; the log of the evaluation says why."
        )
    return tuple(joined), (*notes, *problems)


def _from_rationales(
    histories: Sequence[EvalSetResult], results: Sequence[AdkResult], rules: Mapping[str, RuleLike]
) -> tuple[list[AdkResult], list[str]]:
    """Return the measurements that no sidecar holds, and what is to be known about them."""
    told, disbelieved = told_results(histories, {(one.metric, one.invocation_id) for one in results}, rules)
    notes = [f"{len(told)} measurements are in no sidecar and {COUNTS_ALONE}"] if told else []
    if disbelieved:
        notes.append(
            f"{disbelieved} rationales hold a line that looks like ours, and were skipped: the rest of ADK's "
            "result does not bear it out"
        )
    return told, notes


def _found(path: Path, ending: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"there is no file or folder {path}.")
    return files_below(path, ending)


def _histories(history: Path) -> tuple[list[EvalSetResult], list[str]]:
    """Return ADK's results; a damaged file among several is noted, one that was asked for is an error."""
    read, problems = [], []
    for path in _found(history, ENDING):
        try:
            read.append(read_history(path))
        except CaseError as error:
            if path == history:
                raise
            problems.append(f"{str(error).rstrip('.')}, and was skipped")
    return read, problems


def _joined(one: AdkResult, turns: Mapping[str, Turn]) -> AdkResult:
    turn = turns.get(one.invocation_id)
    return one if turn is None else replace(one, **vars(turn))


_LOGGER = logging.getLogger("judgeharness_adk")
_PLACE = ("evaluation", "evaluated_at", "app", "eval_set_id", "eval_id", "turn")


@dataclass(frozen=True, repr=False)
class AdkResults(Sequence[AdkResult]):
    """Measurements in order of time; `notes` say what was skipped, replaced or not found while reading them."""

    results: tuple[AdkResult, ...]
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, place: int) -> AdkResult: ...
    @overload
    def __getitem__(self, place: slice) -> AdkResults: ...
    def __getitem__(self, place: int | slice) -> AdkResult | AdkResults:
        """Return one measurement, or a slice as `AdkResults`."""
        if isinstance(place, slice):
            return replace(self, results=self.results[place])
        return self.results[place]

    def __len__(self) -> int:
        """Return the number of measurements."""
        return len(self.results)

    def __iter__(self) -> Iterator[AdkResult]:
        """Yield the measurements."""
        return iter(self.results)

    def __repr__(self) -> str:
        """Return the counts."""
        return f"AdkResults({len(self)} measurements, {self.joined} joined; {', '.join(self.metrics)})"

    def __str__(self) -> str:
        """Return the report."""
        return self.report()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order of appearance."""
        return tuple(dict.fromkeys(one.metric for one in self))

    @property
    def joined(self) -> int:
        """Number of measurements whose invocation ADK's results know."""
        return sum(one.joined for one in self)

    def filter(self, keep: Callable[[AdkResult], bool]) -> AdkResults:
        """Return the measurements to keep: `results.filter(lambda one: one.eval_id == "refund")`."""
        return replace(self, results=tuple(one for one in self if keep(one)))

    def latest(self) -> AdkResults:
        """Return the measurements of the last evaluation of each eval set of each app.

        What no result of ADK knows is of no known evaluation, and left out.
        """
        last: dict[tuple[str | None, str | None], AdkResult] = {}
        for one in self:
            known = last.get((one.app, one.eval_set_id), one)
            if one.joined and (one.evaluated_at or "") >= (known.evaluated_at or ""):
                last[one.app, one.eval_set_id] = one
        return self.filter(lambda one: one.joined and one.evaluation == last[one.app, one.eval_set_id].evaluation)

    def report(self) -> str:
        """Return the overview: decisions, failures, consistency, calibration, variance, and what was not measured."""
        return overview(self.results, self.notes)

    def rows(self) -> list[VerdictRow]:
        """Return the verdict log: a case an invocation, the metric as judge, the rubrics as criteria.

        What ADK knows of the invocation is in the attributes: `evaluation`, `evaluated_at`, `app`, `eval_set_id`,
        `eval_id`, `turn`, `eval_run`.
        """
        return [
            replace(row, judge=one.metric, attributes={**row.attributes, **_place(one)})
            for one in self
            for row in one.result.rows
        ]

    def write_log(self, path: str | PathLike[str]) -> Path:
        """Write `rows()` as CSV or JSONL (`.gz` too), which `judgeharness replay` reads."""
        return write_log(self.rows(), path)

    def write_labelling_sheet(self, path: str | PathLike[str], *, seed: int | None = None) -> Path:
        """Write a sheet for people to label, as CSV or JSONL: a line an invocation and rubric, its `gold` empty.

        It does not show what the judge said. Rubrics that no calibration covers (those of one invocation alone) are
        not in it.

        Args:
            path: the file.
            seed: shuffle the lines; the same seed gives the same order.

        Raises:
            UsageError: nothing can be labelled, or the file's ending is another.

        """
        return write_sheet(self.results, Path(path), seed=seed)

    def calibrate(
        self,
        labels: str | PathLike[str],
        *,
        metric: str | None = None,
        name: str | None = None,
        source: str = "human",
        positive: str = "PASS",
    ) -> CalibrationReport:
        """Compare the decisions with a filled labelling sheet; `.save(path)` makes it a metric's `calibration`.

        Args:
            labels: the sheet. Gold is PASS or FAIL (also yes/no, true/false, 1/0); lines of the same invocation and
                rubric are several annotators, of whom the majority counts; lines without gold are left out.
            metric: whose decisions; needed where there are several metrics.
            name: what reports call the label set; the sheet's name when None.
            source: `human`, `executable` or `model:<name>`.
            positive: the label precision and recall are about, PASS or FAIL; where neither people nor the rule ever
                say it, they are None.

        Raises:
            UsageError: several metrics or configurations, no gold, or labels that match nothing.

        """
        return calibrated(
            self.results,
            Path(labels),
            metric=metric,
            name=name,
            source=source,
            positive=positive,
        )

    def variance(self) -> tuple[RubricVariance, ...]:
        """Split the variance of each metric's rubrics: between cases, runs of a case in an evaluation, and samples."""
        return rubric_variances(self.results)


def _place(one: AdkResult) -> dict[str, str | float]:
    known = {name: getattr(one, name) for name in _PLACE} | {"eval_run": one.run}
    return {name: value for name, value in known.items() if value is not None}


def load_results(
    path: str | PathLike[str] = ".",
    *,
    history: str | PathLike[str] | None = None,
    rules: Mapping[str, RuleLike] = MappingProxyType({}),
) -> AdkResults:
    """Read the measurements that evaluations kept, and join them with ADK's own results.

    An invocation that no sidecar holds is read from the rationales of ADK's results: its counts, decision, rule, model
    and fingerprint. What is damaged is skipped, warned about and in `notes`. `latest()` leaves out earlier evaluations.

    Args:
        path: the folder the evaluation ran in, searched for `*.judgeharness.jsonl`, or one such file; or one
            `*.evalset_result.json`, whose rationales alone are read.
        history: where ADK's results are: a folder, or one `*.evalset_result.json`. When None, the folder of `path`;
            where `path` is in an `.adk` folder, the folder that holds it.
        rules: name -> function, for measurements folded by rules of your own (`my_rules:fold`).

    Raises:
        UsageError: nothing was found or nothing whole is left, a line is of another version or of a rule that is not
            in `rules`, or the one file given as `history` is damaged; file and line are named.

    """
    results, notes = joined_results(Path(path), None if history is None else Path(history), rules)
    for note in notes:
        _LOGGER.warning("%s", note)
    return AdkResults(results, notes)
