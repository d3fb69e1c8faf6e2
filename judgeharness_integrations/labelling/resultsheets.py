"""The labelling sheet of any measurements: what people label, blind to the judge, and what they wrote into it."""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import random
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from judgeharness_integrations._errors import CaseError, LogFormatError, UsageError
from judgeharness_integrations.analysis.calibration.items import graded_label
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.cases import Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging.perturbations import position_swap
from judgeharness_integrations.judging.structured import value_text
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, QUOTE, defused, safe_text
from judgeharness_integrations.verdictlog.files import read_records
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, is_number

if TYPE_CHECKING:
    from os import PathLike

_HINT = "save the sheet as comma-separated CSV in UTF-8."


def write_sheet(
    path: Path, lines: Sequence[Mapping[str, Any]], columns: Sequence[str], *, seed: int | None = None
) -> Path:
    """Write a sheet as `.csv` or `.jsonl` and return its path; with a seed its lines are shuffled.

    In CSV a quote stands before what a spreadsheet would take for a formula; `read_sheet` takes it off.

    Raises:
        UsageError: the file's ending is another.

    """
    lines = list(lines)
    if seed is not None:
        random.Random(seed).shuffle(lines)  # noqa: S311 - an order, not a secret
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(f"{path}: a labelling sheet is .csv or .jsonl.")
    path.parent.mkdir(parents=True, exist_ok=True)
    as_csv = path.suffix.lower() == ".csv"
    # Excel takes a CSV without the mark for one of another encoding
    encoding = "utf-8-sig" if as_csv else "utf-8"
    with path.open("w", encoding=encoding, errors=LONE_SURROGATES, newline="") as file:
        if as_csv:
            writer = csv.writer(file, lineterminator="\r\n")
            writer.writerow(columns)
            writer.writerows([defused(cell_text(line[name])) for name in columns] for line in lines)
        else:
            file.writelines(
                json.dumps({name: line[name] for name in columns}, ensure_ascii=False) + "\n" for line in lines
            )
    return path


def item_of(case_id: str) -> str:
    """Return what stands for a case id where people see it: an id may name a model."""
    return "item-" + hashlib.sha256(case_id.encode(errors="surrogatepass")).hexdigest()[:12]


def read_sheet(
    path: Path, *, required: Sequence[str], also: Mapping[str, str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file and line, cells) of a sheet; of CSV the cells are texts, of JSONL what JSON holds.

    Args:
        path: the sheet.
        required: columns it must have.
        also: other name -> name of a column.

    Raises:
        CaseError: it cannot be read, or lacks a required column.

    """
    try:
        records = read_records(path)
    except LogFormatError as error:
        told = str(error).replace("a verdict log is", "a labelling sheet is").rstrip(".")
        raise CaseError(f"{told}; {_HINT}") from error
    as_csv = ".csv" in (suffix.lower() for suffix in path.suffixes)
    for number, read in records:
        where = f"{path}, line {number}"
        cells = {**read, **{name: read[other] for other, name in (also or {}).items() if other in read}}
        missing = [name for name in required if name not in cells]
        if missing:
            raise CaseError(f"{where}: column {missing[0]!r} is missing; {_HINT}")
        yield where, {name: value.removeprefix(QUOTE) for name, value in cells.items()} if as_csv else cells


def cell_text(value: object) -> str:
    """Return a cell as text, an empty one for None."""
    return "" if value is None else str(value)


def golds_in(cells: Mapping[str, Any]) -> list[str]:
    """Return what is written as gold, empty where nothing is; in JSONL a list holds several annotators' labels."""
    gold = cells["gold"]
    texts = (cell_text(said).strip() for said in (gold if isinstance(gold, list) else [gold]))
    return [text for text in texts if text]


Kind: TypeAlias = Literal["words", "number", "label", "labels", "any"]

_GRADED, _PREFERENCE = ("PASS", "FAIL"), ("A", "B", "TIE")
_OR = " / "
_SOME_OF = "some of, separated by semicolons: "
_DECIMAL = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_NUMBER = re.compile(r"a number(?: from (\S+) to (\S+))?")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What answers a criterion: one of `words`, a number (on `scale`), one label, several labels, or anything.

    Several labels are some of `words` where there are any.
    """

    kind: Kind = "any"
    words: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None

    def __str__(self) -> str:
        """Return the text for people, which `parse` reads."""
        if self.kind == "words":
            return _OR.join(self.words)
        if self.kind == "labels" and self.words:
            return _SOME_OF + "; ".join(self.words)
        if self.kind == "number":
            return "a number" if self.scale is None else f"a number from {self.scale[0]:g} to {self.scale[1]:g}"
        return _TEXTS[self.kind]

    @classmethod
    def of_words(cls, words: tuple[str, ...]) -> Answers:
        """Return that one of the words answers; any label does where a sheet could not tell the words apart."""
        plain = len(words) > 1 and not any(_OR in word or word != word.strip() for word in words)
        return cls(kind="words", words=words) if plain else cls(kind="label")

    @classmethod
    def parse(cls, text: str) -> Answers:
        """Return what a text of `str` stands for; anything for a text it never returns."""
        if numeric := _NUMBER.fullmatch(text):
            low, high = (_number(end or "") for end in numeric.groups())
            return cls(kind="number", scale=None if low is None or high is None else (low, high))
        if text.startswith(_SOME_OF):
            return cls(kind="labels", words=tuple(text.removeprefix(_SOME_OF).split("; ")))
        words = tuple(text.split(_OR))
        if len(words) > 1:
            return cls(kind="words", words=words)
        return cls(kind=_KINDS.get(text, "any"))

    def read(self, said: str) -> Verdict | None:
        """Return the label somebody wrote, None where it is not one of those allowed."""
        if said.casefold() == ABSTAIN.casefold():  # only a harness does; who cannot tell leaves gold empty
            return None
        if self.kind == "words":
            graded = graded_label(said) if set(self.words) == set(_GRADED) else None
            return {word.casefold(): word for word in self.words}.get(said.casefold(), graded)
        if self.kind == "labels":
            return self._set(said)
        number = None if self.kind == "label" else _number(said)
        if number is None:
            return None if self.kind == "number" else said
        return number if self.scale is None or self.scale[0] <= number <= self.scale[1] else None

    def _set(self, said: str) -> frozenset[str] | None:
        """Return the labels between semicolons; a semicolon alone is the empty set."""
        labels = [label.strip() for label in said.split(";") if label.strip()]
        if not self.words:
            return frozenset(labels)
        known = {word.casefold(): word for word in self.words}
        meant = [known.get(label.casefold()) for label in labels]
        return None if None in meant else frozenset(label for label in meant if label is not None)


_TEXTS: dict[Kind, str] = {
    "label": "a label",
    "labels": "labels, separated by semicolons",
    "any": "a label or a number",
}
_KINDS: dict[str, Kind] = {text: kind for kind, text in _TEXTS.items()}


def _number(text: str) -> float | None:
    """Return a plain decimal as a number, a whole one without a point as an int."""
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def answers_for(verdicts: AbstractSet[Verdict], *, pairwise: bool) -> Answers:
    """Return what can be compared with such verdicts; which of them was given is not in it.

    Args:
        verdicts: of the samples and decisions about a criterion.
        pairwise: two answers are compared.

    """
    if any(map(is_number, verdicts)):
        return Answers(kind="number")
    if any(isinstance(verdict, frozenset) for verdict in verdicts):
        return Answers(kind="labels")
    for words, fits in ((_PREFERENCE, pairwise), (_GRADED, bool(verdicts))):
        if fits and verdicts <= set(words):
            return Answers(kind="words", words=words)
    return Answers(kind="label" if verdicts else "any")


Only: TypeAlias = Literal["all", "undecided", "abstained"]

_CHOICES: dict[Only, tuple[str, ...]] = {
    "all": ("decided", "abstained", "not_graded"),
    "undecided": ("abstained", "not_graded"),
    "abstained": ("abstained",),
}
_SHEET_TEXTS = ("context", "input", "output", "output_b", "reference")
_HIDDEN = frozenset({"gold", "author", "author_b"})  # what would tell people the answer, or who wrote it
_COLUMNS = ("case_id", "criterion", "rubric", *_SHEET_TEXTS, "answer", "gold")
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
    values = {name: case.get(name) if isinstance(case, Mapping) else getattr(case, name, None) for name in _SHEET_TEXTS}
    texts = {name: value_text(value) for name, value in values.items() if value is not None}
    if not texts and isinstance(case, Mapping):
        case = {name: value for name, value in case.items() if name not in _HIDDEN}
    return texts or {"output": value_text(case)}


_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_ANNOTATORS = {"item": "case_id", "allowed": "answer", "label": "gold"}  # the columns as annotators see them
_PAIR = ("output", "output_b")
_LOGGER = logging.getLogger("judgeharness_integrations")


class SheetLabel(NamedTuple):
    """What one annotator says about one criterion of one case."""

    case_id: str
    criterion: str
    gold: Verdict


class AnnotatedLabel(NamedTuple):
    """A label with what else its line says: who filled it, a comment, and whether two answers had changed places.

    The label names the answers by the places of the case, `swapped` or not.
    """

    label: SheetLabel
    annotator: str
    comment: str
    swapped: bool


def read_labelling_sheet(path: str | PathLike[str], *, cases: Iterable[Case] | None = None) -> list[SheetLabel]:
    """Return the labels of a filled sheet, in order; lines without gold are left out.

    Lines of the same case and criterion, or a list in JSONL, are several annotators. Where a line says that the two
    answers stood in the other order (`swapped`), A and B change places.

    Args:
        path: the sheet; that of an annotator has columns `item`, `allowed`, `label` for `case_id`, `answer`, `gold`.
        cases: those it was written for; the sheet of an annotator needs them, since it names no case.

    Raises:
        CaseError: it cannot be read, lacks a column, holds what its column `answer` does not allow, or no gold; or it
            does not say in which order an annotator saw two answers.

    """
    return [annotated.label for annotated in read_annotated_labels(path, cases=cases)]


def read_annotated_labels(path: str | PathLike[str], *, cases: Iterable[Case] | None = None) -> list[AnnotatedLabel]:
    """Return the labels of a filled sheet with what else their lines say; see `read_labelling_sheet`."""
    path = Path(path)
    lines = list(read_sheet(path, required=("case_id", "criterion", "gold"), also=_ANNOTATORS))
    if cases is None and any("item" in cells for _, cells in lines):
        raise CaseError(f"{path} names items and no cases: give the cases it was written for, too.")
    known = {case_id_of(case): case for case in cases or ()}
    items = {item_of(case_id): case_id for case_id in known}
    labels = [label for where, cells in lines for label in _labels(cells, where, known, items)]
    if not labels:
        allowed, label = ("allowed", "label") if any("label" in cells for _, cells in lines) else ("answer", "gold")
        told = f"no {label} is filled in: write what its column {allowed} allows into its column {label}."
        raise CaseError(f"{path}: {told}")
    return labels


def _labels(
    cells: Mapping[str, Any], where: str, known: Mapping[str, Case], items: Mapping[str, str]
) -> Iterator[AnnotatedLabel]:
    answers = Answers.parse(cell_text(cells.get("answer")).strip())
    case_id, criterion = cell_text(cells["case_id"]), cell_text(cells["criterion"])
    if "item" in cells:
        case_id = items.get(case_id, case_id)
    annotator, comment = (cell_text(cells.get(name)).strip() for name in ("annotator", "comment"))
    swapped = _is_swapped(cells, where)
    for said in golds_in(cells):
        if (gold := answers.read(said)) is None:
            column = "label" if "label" in cells else "gold"
            told = f"{column} {safe_text(said, 40)!r} is not allowed: write {answers}, or nothing."
            raise CaseError(f"{where}: {told}")
        _check_places(cells, known.get(case_id), where, swapped=swapped)
        gold = position_swap().restore(gold, criterion) if swapped else gold
        yield AnnotatedLabel(SheetLabel(case_id, criterion, gold), annotator, comment, bool(swapped))


def _is_swapped(cells: Mapping[str, Any], where: str) -> bool | None:
    """Return whether the two answers had changed places, None where that is not said."""
    said = cell_text(cells.get("swapped")).strip().casefold()
    if said and said not in (*_YES, *_NO):
        raise CaseError(f"{where}: swapped {safe_text(said, 40)!r} is not yes or no: that column is not for people.")
    return said in _YES if said else None


def _check_places(cells: Mapping[str, Any], case: Case | None, where: str, *, swapped: bool | None) -> None:
    """Refuse a line about two answers from which it cannot be told which one is the case's A."""
    pair = [cell_text(cells.get(name)) for name in _PAIR]
    drawn = "annotator" in cells or "item" in cells  # the places are drawn in the sheets of annotators alone
    said = swapped is not None or not drawn or not (pair[1] or isinstance(case, PairwiseCase))
    if said and isinstance(case, PairwiseCase):
        own = [" ".join(case_texts(case)[name].split()) for name in _PAIR]  # spreadsheets change spaces
        shown = [" ".join(text.split()) for text in pair]
        said = own[0] == own[1] or shown != (own if swapped else own[::-1])
    if not said:
        raise CaseError(
            f"{where}: its column swapped does not say how the two answers stand: take that column from the sheet as "
            "it was written."
        )


def calibration_set_from_sheet(
    path: str | PathLike[str], cases: Iterable[Case], *, name: str | None = None, **options: Any
) -> CalibrationSet:
    """Return the cases of a filled sheet with its labels; `options` are further fields of `CalibrationSet`.

    Args:
        path: the sheet.
        cases: the cases it was written for; those without a label are left out.
        name: what reports call the set; the sheet's name when None.
        options: `source`, `consensus`, `positive`.

    Raises:
        CaseError: the sheet cannot be used, or none of its labels is of a case given.

    """
    path = Path(path)
    golds: dict[str, dict[str, list[Verdict]]] = {}
    known = {case_id_of(case): case for case in cases}
    labels = read_labelling_sheet(path, cases=known.values())
    for label in labels:
        golds.setdefault(label.case_id, {}).setdefault(label.criterion, []).append(label.gold)
    unknown = sum(label.case_id not in known for label in labels)
    if unknown == len(labels):
        raise CaseError(f"{path}: none of its {unknown} labels is of a case given: give the cases it was written for.")
    if unknown:
        _LOGGER.warning("%s: %d of %d labels are of no case given and count for nothing", path, unknown, len(labels))
    labelled = tuple((case, golds[case_id]) for case_id, case in known.items() if case_id in golds)
    return CalibrationSet(name or path.name.split(".")[0], labelled, **options)
