"""The columns of a file as rows: defaults, kinds and every complaint with its line.

Many small frozen values, made quickly where their maker vouches for all of their fields.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, make_dataclass
from functools import lru_cache
from hashlib import blake2b
from sys import intern
from typing import Any, NoReturn, TypeAlias, TypeVar

from judgeharness_integrations._errors import LogFormatError

from .encoding import LOG_SCHEMA, to_record
from .row import (
    ABSTAIN,
    OUTCOMES,
    TOKENS,
    RowKey,
    Verdict,
    VerdictRow,
    is_number,
    probabilities_from_json,
    verdict_from_json,
)

_T = TypeVar("_T")


def drafted(kind: type[_T]) -> Callable[..., _T]:
    """Return what makes values of a frozen dataclass with slots from all its fields, given in order and unnamed.

    A frozen dataclass sets each of its fields through `object.__setattr__`, which for a row of the log is most of what
    it costs. Here they are those of a draft of the same layout, which then becomes the value. Fields that are not given
    are not set: whoever calls it gives all of them, each of its type.
    """

    def become(draft: Any) -> None:
        draft.__class__ = kind

    names = [(field.name, Any) for field in fields(kind)]  # type: ignore[arg-type]
    return make_dataclass("_Draft", names, slots=True, eq=False, repr=False, namespace={"__post_init__": become})


Record: TypeAlias = "tuple[int, dict[str, Any]]"
_Group: TypeAlias = "tuple[str, str | None]"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_INFINITE = frozenset({"nan", "inf", "infinity"})
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})
_PASS_OR_FAIL = ("PASS", "FAIL")
_OF_PAIRS = ("A", "B", "TIE", "better", "worse")
_KEY = frozenset({"run", "case_id", "judge", "criterion", "perturbation", "repetition"})
CORE = _KEY | {"verdict", "gold", "outcome", "swapped", "schema"}  # columns of who was asked what, and the answer
_REPEATED = (*(CORE - {"case_id"}), "pair", "side")
_MOST_ANSWERS = 100_000  # that are remembered, so that a column of scores with many decimals does not fill memory

_Answer: TypeAlias = "tuple[Verdict | None, str, str, str, str, int | None, bool, Any, Verdict | None]"
_drafted_row = drafted(VerdictRow)


class Line:
    """One record with its place, for errors: what cannot be read is a LogFormatError that names it."""

    __slots__ = ("columns", "number", "source")

    def __init__(self, source: str, record: Record) -> None:
        """Hold a record of a source."""
        self.source = source
        self.number, self.columns = record

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that names the place."""
        raise LogFormatError.at(self.source, self.number, problem)

    def text(self, name: str, default: str) -> str:
        """Return a cell as text, `default` for an empty one."""
        value = self.columns.get(name)
        if value.__class__ is str:
            return value or default
        return default if value is None else str(value)

    def integer(self, name: str) -> int | None:
        """Return a whole number of at least 0, None for an empty cell."""
        value = self.columns.get(name)
        if value is None or value == "":
            return None
        try:
            number = int(value)
            # not compared as floats: those round large numbers
            whole = math.isfinite(float(value)) and (isinstance(value, str) or number == value)
        except (TypeError, ValueError, OverflowError):
            number, whole = -1, False
        if number < 0 or not whole:
            self.fail(f"{name} {value!r} is not a whole number of at least 0.")
        return number

    def decimal(self, name: str) -> float:
        """Return a finite number."""
        value = self.columns[name]
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{name} {value!r} is not a finite number.")
        return number

    def verdict(self, name: str) -> Verdict | None:
        """Return the cell as written: text stays text, a JSON list becomes a set."""
        value = self.columns.get(name)
        if isinstance(value, str):
            if not value.startswith("[") or self.typed():
                return value.strip() or None
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                value = self.columns[name]
        try:
            return verdict_from_json(value)
        except ValueError as error:
            self.fail(f"{name}: {error}.")

    def probabilities(self, name: str) -> dict[str, float]:
        """Return option -> probability of a cell, which is an object of JSON or the text of one."""
        value = self.columns[name]
        try:
            given = probabilities_from_json(json.loads(value) if isinstance(value, str) else value)
        except (ValueError, RecursionError) as error:
            self.fail(f"{name}: {error}.")
        if given is None:
            self.fail(f"{name}: null is no object of option and probability.")
        return given

    def typed(self) -> bool:
        """Whether this is a line of a JSONL of ours, where a quoted number is a label and only a list is a set."""
        return self.columns.get("schema") == LOG_SCHEMA and isinstance(self.columns.get("repetition"), int)

    def group(self) -> _Group:
        """Return within what verdicts are of one kind: the criterion; where verdicts have types, of one judge."""
        return self.text("criterion", "verdict"), self.text("judge", "judge") if self.typed() else None

    def holds_number(self, value: object) -> bool:
        """Whether a verdict as written is a number; one that is not finite is an error."""
        text = str(value).strip()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            number = value
        elif self.typed():
            return False
        elif text.lower().lstrip("+-") in _INFINITE:
            number = math.inf
        elif _DECIMAL.fullmatch(text):
            number = float(text)
        else:
            return False
        if not is_number(number):
            self.fail(
                f"verdict {value!r:.60} is not finite: leave it empty when there is none, or read with labels=True."
            )
        return True


NUMBERS: Mapping[str, Callable[[Line, str], float | None]] = {  # columns that hold numbers, and what reads them
    **dict.fromkeys((*TOKENS, "attempts"), Line.integer),
    "latency_s": Line.decimal,
}
_OPTIONAL: dict[str, Callable[[Line, str], str | float | dict[str, float] | None]] = {
    **dict.fromkeys(
        ("call_id", "reasoning", "raw", "model", "service_tier", "finish_reason", "error", "asked_at", "probe_hash"),
        lambda line, name: line.text(name, ""),
    ),
    **NUMBERS,
    "probabilities": Line.probabilities,
}
_OPTIONAL_FIELDS = tuple(field.name for field in fields(VerdictRow) if field.name in _OPTIONAL)
_NO_OPTIONAL = (None,) * len(_OPTIONAL_FIELDS)


def decode(records: Sequence[Record], *, source: str, labels: bool = False) -> list[VerdictRow]:
    """Return the rows of a file's records; see `read_log`."""
    lines = [Line(source, record) for record in records]
    return list(_decoded(lambda: lines, source, _itself, labels=labels))


def as_labels(rows: Iterable[VerdictRow], *, source: str) -> list[VerdictRow]:
    """Return the rows of a database with every verdict as text, as `read_log` does of a file."""
    return decode([(number, to_record(row)) for number, row in enumerate(rows, 1)], source=source, labels=True)


def iter_decoded(
    records: Callable[[], Iterable[Record]], *, source: str, labels: bool = False, held: bool = False
) -> Iterator[VerdictRow]:
    """Yield the rows of records that can be read twice: whether a criterion is numeric is known after the last one.

    Besides its key no record is held, and of that only a digest unless the caller holds the rows (`held`).
    """
    mark = _itself if held else _digest
    return _decoded(lambda: (Line(source, record) for record in records()), source, mark, labels=labels)


def _itself(key: RowKey) -> RowKey:
    return key


def _digest(key: RowKey) -> bytes:
    return blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _decoded(
    lines: Callable[[], Iterable[Line]], source: str, mark: Callable[[RowKey], Hashable], *, labels: bool
) -> Iterator[VerdictRow]:
    """Yield rows; `mark` is what is remembered of a key."""
    numeric = _numeric_criteria(_checked(lines(), source), labels=labels)
    seen: dict[Hashable, int] = {}
    repeated: Counter[tuple[str, ...]] = Counter()
    layouts = _Layouts(numeric)
    for line in lines():
        row = _row(line, repeated, layouts[tuple(line.columns)])
        if (earlier := seen.setdefault(mark(row.key), line.number)) != line.number:
            line.fail(
                f"repeats the key of line {earlier}: {row.case_id!r}, {row.judge!r}, {row.criterion!r}, "
                f"{row.perturbation!r}, repetition {row.repetition}."
            )
        yield row


def _checked(lines: Iterable[Line], source: str) -> Iterator[Line]:
    """Yield lines of a schema that is known here, of a file that has rows and the columns rows need."""
    first = True
    for line in lines:
        if first:
            _check_columns((line.number, line.columns), source)
        first = False
        if line.columns.get("schema", LOG_SCHEMA) != LOG_SCHEMA:
            _check_schema(line)
        yield line
    if first:
        raise LogFormatError(f"{source}: holds no rows.")


def _check_columns(first: Record, source: str) -> None:
    line, columns = first
    missing = [name for name in ("case_id", "verdict") if name not in columns]
    if missing:
        raise LogFormatError.at(source, line, f"column {missing[0]!r} is missing: a log needs case_id and verdict.")


def _check_schema(line: Line) -> None:
    schema = line.text("schema", "")
    if schema.startswith("judgeharness.log/"):
        line.fail(f"schema {schema!r} is not known here: this version reads {LOG_SCHEMA}.")


def _numeric_criteria(lines: Iterable[Line], *, labels: bool) -> frozenset[_Group]:
    """Return the numeric groups: every verdict of them is a plain finite decimal; none if all are to be labels."""
    kinds: dict[_Group, tuple[bool, int]] = {}
    known: set[tuple[object, ...]] = set()  # logs repeat a few verdicts many times
    for line in lines:
        if labels:
            continue
        get = line.columns.get
        value = get("verdict")
        text = value if isinstance(value, str) else None
        cells = text, repr(get("criterion")), repr(get("judge")), repr(get("schema")), get("repetition").__class__
        if value is None or (text is not None and (cells in known or text.strip() in ("", ABSTAIN))):
            continue
        number, group = line.holds_number(value), line.group()
        kind, where = kinds.setdefault(group, (number, line.number))
        if kind != number:
            words = ("a label", "a number") if kind else ("a number", "a label")
            line.fail(
                f"criterion {group[0]!r} holds {words[0]} here and {words[1]} in line {where}: "
                "use one kind, or read with labels=True (--labels)."
            )
        if text is not None:
            known.add(cells)
    return frozenset(group for group, (kind, _) in kinds.items() if kind)


def _number(verdict: Verdict | None) -> Verdict | None:
    if not isinstance(verdict, str):
        return verdict
    number = float(verdict) if _DECIMAL.fullmatch(verdict) else math.nan
    if not is_number(number):
        raise ValueError(f"{verdict!r} is not a finite number")
    return int(number) if number.is_integer() and "." not in verdict and abs(number) < 2**53 else number


def _label(verdict: Verdict | None) -> Verdict | None:
    return verdict if verdict is None or isinstance(verdict, frozenset) else str(verdict)


class _Layout:
    """Records with the same columns. Each distinct answer is read once: logs repeat few of them many times."""

    def __init__(self, columns: tuple[str, ...], numeric: frozenset[_Group]) -> None:
        self.others = tuple(name for name in columns if name not in CORE)
        self._repeated = tuple(name for name in _REPEATED if name in columns)
        self._numeric = numeric
        self._known: dict[tuple[object, ...], _Answer] = {}

    def answer(self, line: Line) -> _Answer:
        """Return what a line says of who was asked what, and the answer."""
        columns = line.columns
        cells = [columns[name] for name in self._repeated]
        key = (*cells, *map(type, cells))  # 1, 1.0 and true are one key of a dict, but not one verdict
        try:
            answer = self._known.get(key)
        except TypeError:  # a list, which is a set of labels
            return self._read(line)
        if answer is None:
            answer = self._read(line)
            if len(self._known) < _MOST_ANSWERS:
                self._known[key] = answer
        return answer

    def _read(self, line: Line) -> _Answer:
        perturbation, numeric = perturbation_of(line), self._numeric
        to_kind = _number if numeric and line.group() in numeric else _label
        verdict, outcome = _verdict(line)
        return (
            to_kind(verdict),
            line.text("run", ""),
            line.text("judge", "judge"),
            line.text("criterion", "verdict"),
            perturbation,
            line.integer("repetition"),
            _swapped(line, perturbation),
            outcome,
            _gold(line, to_kind),
        )


class _Layouts(dict[tuple[str, ...], _Layout]):
    """The columns of a record -> their layout; the records of a CSV share one."""

    def __init__(self, numeric: frozenset[_Group]) -> None:
        super().__init__()
        self._numeric = numeric

    def __missing__(self, columns: tuple[str, ...]) -> _Layout:
        self[columns] = layout = _Layout(columns, self._numeric)
        return layout


def _row(line: Line, repeated: Counter[tuple[str, ...]], layout: _Layout) -> VerdictRow:
    """Return the row of a line; `repeated` counts rows without a repetition, which is their place among their like."""
    optional: dict[str, Any] = {}
    attributes: dict[str, str | float] = {}
    for name in layout.others:
        value = line.columns[name]
        if value is None or value == "":
            continue
        if name in _OPTIONAL:
            optional[name] = _OPTIONAL[name](line, name)
        else:
            attributes[name] = value if isinstance(value, (str, int, float)) else json.dumps(value)
    case_id = line.text("case_id", "")
    if not case_id:
        line.fail("case_id is empty.")
    verdict, run, judge, criterion, perturbation, repetition, swapped, outcome, gold = layout.answer(line)
    if verdict is None and outcome == "ok" and "probabilities" not in optional and line.verdict("verdict") is None:
        line.fail("outcome is 'ok' but the verdict is empty.")
    if "probabilities" in optional and outcome != "ok":
        line.fail(f"outcome is {outcome!r} but there are probabilities.")
    if repetition is None:
        group = (case_id, judge, criterion, perturbation, run)
        repetition = repeated[group]
        repeated[group] += 1
    return _drafted_row(
        intern(case_id),
        verdict,
        run,
        judge,
        criterion,
        perturbation,
        repetition,
        swapped,
        outcome,
        gold,
        *(map(optional.get, _OPTIONAL_FIELDS) if optional else _NO_OPTIONAL),
        attributes,
    )


def _verdict(line: Line) -> tuple[Verdict | None, Any]:
    verdict = line.verdict("verdict")
    outcome = line.text("outcome", "unparsed" if verdict is None else "ok")
    if verdict == ABSTAIN:  # abstaining is the harness's decision, or a member's; a judge that does not answer refused
        vote = outcome == "ok" and line.columns.get("schema") == LOG_SCHEMA and line.columns.get("outcome")
        return None, "ok" if vote else "refused"
    if outcome not in OUTCOMES:
        line.fail(f"outcome {outcome!r} is not one of {', '.join(OUTCOMES)}.")
    if verdict is not None and outcome != "ok":
        line.fail(f"outcome is {outcome!r} but the verdict is {verdict!r}.")
    return verdict, outcome


def _gold(line: Line, to_kind: Callable[[Verdict | None], Verdict | None]) -> Verdict | None:
    gold = line.verdict("gold")
    if gold in _PASS_OR_FAIL:  # people may have said PASS or FAIL where the judge gives scores
        return gold
    if gold in _OF_PAIRS and line.columns.get("pair") and line.columns.get("side"):  # ... or which of two is better
        return gold
    try:
        return to_kind(gold)
    except ValueError:
        line.fail(f"gold {gold!r} is neither a number, as the verdicts of its criterion are, nor PASS or FAIL.")


def perturbation_of(line: Line) -> str:
    """Return what a line was asked under, as far as it says."""
    return line.text("perturbation", "") or ("position_swap" if _swapped(line, "") else "none")


def _swapped(line: Line, perturbation: str) -> bool:
    value = line.columns.get("swapped")
    if value is None or value == "":
        return _swaps(perturbation)
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        line.fail(f"swapped {value!r} is not true or false.")
    return text in _TRUE


@lru_cache(maxsize=256)
def _swaps(perturbation: str) -> bool:
    return perturbation.split("+").count("position_swap") % 2 == 1
