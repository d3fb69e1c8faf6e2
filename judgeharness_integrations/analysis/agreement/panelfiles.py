"""Files with the labels of people and judges as a panel, and a report beside one: may its judges replace annotators?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeharness_integrations._errors import LogFormatError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.decoding import Record, decode
from judgeharness_integrations.verdictlog.files import open_text, read_records
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

from ..calibration.items import BINARY, read_golds
from ..runs.report import RunReport
from .panel import DEFAULT_RULE, Columns, Panel, annotation_rows, is_log, table_rows

if TYPE_CHECKING:
    from os import PathLike

    from ..aggregation.rules import RuleLike
    from .closeness import ScoreLike

_WHOLE = re.compile(r"[+-]?[0-9]+\.0+")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")


def read_panel(
    *paths: str | PathLike[str],
    criterion: str | None = None,
    labels: bool = False,
    cluster: str | None = None,
    columns: Columns | None = None,
    rule: RuleLike = DEFAULT_RULE,
) -> Panel:
    """Read a panel from one or more files.

    Args:
        paths: verdict logs (`.csv`, `.jsonl`) whose `judge` column names annotators and judges; tables of the same
            endings with one row an item and annotator, or a column for each annotator; `.json` with {annotator: {item:
            label}}, or {item: label} of one who is named as the file. All of them also as `.gz`.
        criterion: which one of a verdict log that has several.
        labels: read numbers as labels.
        cluster: the column that says which items belong together.
        columns: where a table holds item, rater and labels.
        rule: folds several answers of one rater about one item.

    Raises:
        LogFormatError: a file cannot be read; file and line are named.
        UsageError: labels and numbers are mixed, or there are several criteria.

    """
    rows: list[VerdictRow] = []
    marks: list[str] = []
    for path in map(Path, paths):
        found, named = _rows(path, columns or Columns(), labels=labels)
        rows += found
        marks += named
    if labels:
        rows = [_whole(row) for row in rows]
    else:
        _refuse_decimal_commas(rows)
    return Panel.from_rows(rows, criterion=criterion, cluster=cluster, rule=rule, labels=marks)


def _whole(row: VerdictRow) -> VerdictRow:
    """Return the row with `1` for `1.0`, which is what pandas makes of it where another cell is missing."""
    text = row.verdict
    return replace(row, verdict=text.partition(".")[0]) if isinstance(text, str) and _WHOLE.fullmatch(text) else row


def _refuse_decimal_commas(rows: Sequence[VerdictRow]) -> None:
    """Refuse numbers that would be compared as texts."""
    texts = {row.verdict for row in rows if isinstance(row.verdict, str)}
    commas = sorted(text for text in texts if "," in text)
    if commas and all(map(_COMMA_NUMBER.fullmatch, texts)):
        raise LogFormatError(
            f"labels such as {commas[0]!r} are numbers with a decimal comma: write a point, or read them as labels "
            "with --labels."
        )


def _rows(path: Path, columns: Columns, *, labels: bool) -> tuple[list[VerdictRow], Sequence[str]]:
    if ".json" in (suffix.lower() for suffix in path.suffixes):
        return _json_rows(path, columns, labels=labels)
    return _record_rows(read_records(path), path, columns, labels=labels)


def _record_rows(
    records: Sequence[Record], path: Path, columns: Columns, *, labels: bool
) -> tuple[list[VerdictRow], Sequence[str]]:
    if not records:
        raise LogFormatError(f"{path}: holds no rows.")
    if columns == Columns() and is_log(records[0][1]):
        return decode(records, source=str(path), labels=labels), ()
    return table_rows(records, source=str(path), columns=columns, labels=labels)


@dataclass(frozen=True)
class _Object:
    """The members of a JSON object, of which a key may stand twice."""

    members: list[tuple[str, Any]]


def _json_rows(path: Path, columns: Columns, *, labels: bool) -> tuple[list[VerdictRow], Sequence[str]]:
    with open_text(path) as text:
        try:
            data = json.load(text, object_pairs_hook=_Object)
        except (ValueError, RecursionError) as error:
            raise LogFormatError(f"{path}: is not JSON ({error}).") from error
    if isinstance(data, _Object):
        rows, positions = annotation_rows(_cells(data, path), labels=labels)
        return rows, (*positions, *_named_marks(data))
    if not isinstance(data, list) or not all(isinstance(record, _Object) for record in data):
        raise LogFormatError(f"{path}: is neither {{annotator: {{item: label}}}} nor a list of rows.")
    records = [(number, dict(record.members)) for number, record in enumerate(data, start=1)]
    return _record_rows(records, path, columns, labels=labels)


def _cells(data: _Object, path: Path) -> Iterator[tuple[str, str, object]]:
    members = data.members
    raters = [isinstance(value, _Object) for _, value in members]
    if any(raters) and not all(raters):
        name = next(name for name, value in members if not isinstance(value, _Object))
        raise LogFormatError(f"{path}: {name!r} holds no {{item: label}}, as the other annotators do.")
    if raters and all(raters):
        yield from ((rater, item, _label(label, path)) for rater, said in members for item, label in said.members)
    else:
        yield from ((path.name.split(".")[0], item, label) for item, label in members)


def _label(value: object, path: Path) -> object:
    """Return a label; of {label: 0 or 1} the labels that hold."""
    if not isinstance(value, _Object):
        return value
    wrong = [name for name, mark in value.members if mark not in (0, 1)]
    if wrong:
        raise LogFormatError(f"{path}: label {wrong[0]!r} is neither 0 nor 1: write a label or a list of labels.")
    return [name for name, mark in value.members if mark]


def _named_marks(data: _Object) -> set[str]:
    """Return the labels of every {label: 0 or 1}, also those nobody marked."""
    said = (value for _, one in data.members if isinstance(one, _Object) for _, value in one.members)
    return {name for value in said if isinstance(value, _Object) for name, _ in value.members}


_Decision: TypeAlias = "tuple[str, str, Verdict | None]"  # judge, case, label

_LEAST_HUMANS = 3


def annotated(
    report: RunReport,
    panel: Panel,
    *,
    humans: Sequence[str],
    epsilon: float | Iterable[float] = 0.2,
    criterion: str | None = None,
    multiplicative: bool = False,
    score: ScoreLike | None = None,
    q: float = 0.05,
    min_instances: int = 30,
    panel_description: str = "unknown",
    seed: int = 0,
) -> RunReport:
    """Return the report with the alternative annotator test of its judges' decisions against people.

    What is tested is what the rule decided, not single samples: an abstention and a case that was not graded are no
    label, and are counted as answers without one. Where decisions are PASS and FAIL and people used other words for
    them (yes and no, 1 and 0), their words are taken for these. A case is matched with an item of the same name.

    Args:
        report: a run or a log.
        panel: what people said; raters who are not `humans` are left out.
        humans: names or globs of the people, such as `annotator_*`.
        epsilon: how much worse a judge may be, since it is so much cheaper; or several.
        criterion: which one, where the report has several.
        multiplicative: epsilon as a share of the human's advantage probability, not as a difference.
        score: how close an answer is to another one; by default what is usual for this kind of labels.
        q: level of the false discovery rate.
        min_instances: cases an annotator needs to be tested.
        panel_description: who the people were.
        seed: of the redrawn panels that tell whether any judge could pass.

    Returns:
        The report with `annotators`; where nothing can be tested (no decision, fewer than three people, too few common
        cases) with `annotators_reason`.

    Raises:
        UnknownNameError: no such rater, criterion or score.
        UsageError: several criteria and none chosen, a judge named as a person is, labels of another kind than the
            decisions, or an epsilon, q or min_instances that cannot be used.

    """
    from .alttest import alt_test  # noqa: PLC0415 - loads numpy and scipy

    chosen, judges = _criterion(report, criterion), list(dict.fromkeys(result.judge for result in report.results))
    people = panel.select(humans, what="human")
    if twice := sorted(set(judges) & set(people)):
        raise UsageError(f"{twice[0]!r} is both a judge of the report and one of the humans: give one another name.")
    if reason := _untestable(panel, people, judges):
        return replace(report, annotators=None, annotators_reason=reason)
    decisions = list(_decisions(report, chosen))
    joined = _joined(panel, people, decisions)
    if joined is None:
        return replace(report, annotators=None, annotators_reason=_strangers(panel, people, decisions))
    found = alt_test(
        joined,
        humans=people,
        candidates=[name for name in judges if name in joined.raters],
        scores=score,
        epsilons=epsilon,
        multiplicative=multiplicative,
        q=q,
        min_instances=min_instances,
        panel_description=panel_description,
        seed=seed,
    )
    if all(test.passed is None for test in found.candidates):
        reasons = dict.fromkeys((test.reason or "").removeprefix("not testable: ") for test in found.candidates)
        return replace(report, annotators=None, annotators_reason=" ".join(reasons))
    strangers = [name for name in judges if name not in joined.raters]
    left_out = f"{', '.join(strangers)} judged none of the cases people labelled" if strangers else None
    return replace(report, annotators=found, annotators_reason=left_out)


def annotated_by_file(
    report: RunReport, annotations: Path, *, humans: Sequence[str], epsilon: float | Iterable[float] = 0.2
) -> RunReport:
    """Return the report with the test of its judges against the people of a file of labels; see `annotated`.

    Raises:
        UsageError: as `annotated`, or the file cannot be read.

    """
    return annotated(report, read_panel(annotations), humans=humans, epsilon=epsilon)


def _strangers(panel: Panel, people: Sequence[str], decisions: Sequence[_Decision]) -> str:
    theirs = next(item for _, item, _ in _labels_given(panel, people))
    mine = decisions[0][1]
    return f"people labelled none of the cases, which are named as {mine!r:.60} here and as {theirs!r:.60} there"


def _decisions(report: RunReport, criterion: str | None) -> Iterator[_Decision]:
    for result in report.results:
        measured = result.criteria.get(criterion or "")
        if measured is not None:
            yield result.judge, result.case_id, measured.verdict if measured.status == "decided" else None


def _criterion(report: RunReport, named: str | None) -> str | None:
    """Return the criterion to test; None where there is none."""
    known = list(dict.fromkeys(name for result in report.results for name in result.criteria))
    if named is not None:
        if named not in known:
            raise UnknownNameError("criterion", named, known)
        return named
    if len(known) > 1:
        raise UsageError(f"the report has {len(known)} criteria ({', '.join(known)}): choose the one people labelled.")
    return next(iter(known), None)


def _untestable(panel: Panel, people: Sequence[str], judges: Sequence[str]) -> str | None:
    """Return why there is nothing to test; None where there is."""
    answering = sum(cells.start < cells.stop for cells in map(panel.cells_of, people))
    if answering < _LEAST_HUMANS:
        return f"the test needs labels of {_LEAST_HUMANS} people at least, not of {answering}"
    return None if judges else "the report holds no result"


def _labels_given(panel: Panel, people: Sequence[str]) -> Iterator[tuple[str, str, Verdict]]:
    """Yield person, item and label of every cell."""
    for name in people:
        cells = panel.cells_of(name)
        for item, value in zip(panel.item[cells].tolist(), panel.values[cells].tolist(), strict=True):
            yield name, panel.items[item], _annotator_label(panel, value)


def _annotator_label(panel: Panel, value: Any) -> Verdict:
    if panel.kind == "numbers":
        return float(value)
    if panel.kind == "labels":
        return str(panel.labels[value])
    return frozenset(label for label, marked in zip(panel.labels, value, strict=True) if marked)


def _joined(panel: Panel, people: Sequence[str], decisions: Sequence[_Decision]) -> Panel | None:
    """Return the panel of people and decisions, with what was counted when the people's was made; None if strangers."""
    said = list(_labels_given(panel, people))
    verdicts = {label for _, _, label in decisions if label is not None}
    if verdicts and verdicts <= BINARY:
        read = read_golds({label for _, _, label in said}, verdicts)
        said = [(name, item, read[label] or label) for name, item, label in said]
    items = {item for _, item, _ in said}
    rows = [VerdictRow(case_id=item, judge=name, verdict=label) for name, item, label in said]
    theirs = [
        VerdictRow(
            case_id=case, judge=judge, verdict=label, outcome="unparsed" if label is None else "ok", repetition=n
        )
        for n, (judge, case, label) in enumerate(decisions)
        if case in items
    ]
    if not theirs:
        return None
    built = type(panel).from_rows([*rows, *theirs], rule=panel.rule, labels=panel.labels)
    clusters = None
    if panel.clusters is not None:
        place = {item: number for number, item in enumerate(panel.items)}
        clusters = panel.clusters[[place[item] for item in built.items]]
    return replace(
        built,
        clusters=clusters,
        cluster_name=panel.cluster_name,
        failed={**built.failed, **_of(panel.failed, people)},
        folded={**built.folded, **_of(panel.folded, people)},
        undecided={**built.undecided, **_of(panel.undecided, people)},
    )


def _of(counts: Mapping[str, int], people: Iterable[str]) -> dict[str, int]:
    return {name: counts[name] for name in people if name in counts}
