"""The columns of a file as rows: defaults, kinds and every complaint with its line."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from judgeharness_integrations._errors import LogFormatError
from judgeharness_integrations.verdictlog.encoding import LOG_SCHEMA
from judgeharness_integrations.verdictlog.row import ABSTAIN, OUTCOMES, RowKey, Verdict, VerdictRow, verdict_from_json

__all__ = ["Record", "decode"]

Record: TypeAlias = "tuple[int, dict[str, Any]]"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_INFINITE = frozenset({"nan", "inf", "infinity"})
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})
_KEY = {"case_id": "", "judge": "judge", "criterion": "verdict", "perturbation": "none", "run": ""}
_CORE = frozenset({*_KEY, "repetition", "verdict", "gold", "outcome", "swapped", "schema"})


class _Line:
    """One record with its place, for errors."""

    def __init__(self, source: str, record: Record) -> None:
        self.source = source
        self.number, self.columns = record

    def fail(self, problem: str) -> NoReturn:
        raise LogFormatError.at(self.source, self.number, problem)

    def text(self, name: str, default: str) -> str:
        value = self.columns.get(name)
        return default if value is None or value == "" else str(value)

    def integer(self, name: str) -> int | None:
        value = self.columns.get(name)
        if value is None or value == "":
            return None
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            number = -1
        if number < 0 or number != float(value):
            self.fail(f"{name} {value!r} is not a whole number of at least 0.")
        return number

    def decimal(self, name: str) -> float | None:
        value = self.columns.get(name)
        if value is None or value == "":
            return None
        try:
            return float(value)
        except (TypeError, ValueError):
            self.fail(f"{name} {value!r} is not a number.")

    def verdict(self, name: str) -> Verdict | None:
        """Return the cell as written: text stays text, a JSON list becomes a set."""
        value = self.columns.get(name)
        if isinstance(value, str) and value.startswith("["):
            try:
                value = json.loads(value)
            except ValueError:
                value = self.columns[name]
        try:
            return verdict_from_json(value)
        except ValueError as error:
            self.fail(f"{name}: {error}.")


_OPTIONAL: dict[str, Callable[[_Line, str], str | float | None]] = {
    **dict.fromkeys(
        ("call_id", "reasoning", "raw", "model", "error", "asked_at"), lambda line, name: line.text(name, "")
    ),
    **dict.fromkeys(("input_tokens", "output_tokens", "attempts"), _Line.integer),
    "latency_s": _Line.decimal,
}


def decode(records: Sequence[Record], *, source: str, labels: bool = False) -> list[VerdictRow]:
    """Return the rows of a file's records; see `read_log`."""
    if not records:
        raise LogFormatError(f"{source}: holds no rows.")
    _check_columns(records[0], source)
    lines = [_Line(source, record) for record in records]
    numeric = {} if labels else _numeric_criteria(lines)
    rows: list[VerdictRow] = []
    seen: dict[RowKey, int] = {}
    repeated: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        row = _row(line, repeated, to_kind=_number if numeric.get(line.text("criterion", "verdict")) else _label)
        if (earlier := seen.setdefault(row.key, line.number)) != line.number:
            line.fail(
                f"repeats the key of line {earlier}: {row.case_id!r}, {row.judge!r}, {row.criterion!r}, "
                f"{row.perturbation!r}, repetition {row.repetition}."
            )
        rows.append(row)
    return rows


def _check_columns(first: Record, source: str) -> None:
    line, columns = first
    missing = [name for name in ("case_id", "verdict") if name not in columns]
    if missing:
        raise LogFormatError.at(source, line, f"column {missing[0]!r} is missing: a log needs case_id and verdict.")
    schema = columns.get("schema")
    if schema and str(schema).startswith("judgeharness.log/") and schema != LOG_SCHEMA:
        raise LogFormatError.at(source, line, f"schema {schema!r} is not known here: this version reads {LOG_SCHEMA}.")


def _numeric_criteria(lines: Sequence[_Line]) -> dict[str, bool]:
    """Return criterion -> whether it is numeric: every verdict of it is a plain finite decimal."""
    kinds: dict[str, tuple[bool, int]] = {}
    for line in lines:
        value = line.columns.get("verdict")
        if value is None or value in ("", ABSTAIN):
            continue
        typed = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = "" if typed else str(value).strip()
        if (typed and not math.isfinite(value)) or text.lower().lstrip("+-") in _INFINITE:
            line.fail(f"verdict {value!r} is not finite: leave it empty when there is none, or read with labels=True.")
        number = typed or (_DECIMAL.fullmatch(text) is not None and not _is_typed_text(line))
        criterion = line.text("criterion", "verdict")
        kind, where = kinds.setdefault(criterion, (number, line.number))
        if kind != number:
            words = ("a label", "a number") if kind else ("a number", "a label")
            line.fail(
                f"criterion {criterion!r} holds {words[0]} here and {words[1]} in line {where}: "
                "use one kind, or read with labels=True (--labels)."
            )
    return {criterion: kind for criterion, (kind, _) in kinds.items()}


def _is_typed_text(line: _Line) -> bool:
    """Whether the file is a JSONL of ours, where a quoted number is a label."""
    return line.columns.get("schema") == LOG_SCHEMA and isinstance(line.columns.get("repetition"), int)


def _number(verdict: Verdict | None) -> Verdict | None:
    if not isinstance(verdict, str):
        return verdict
    number = float(verdict)
    return int(number) if number.is_integer() and "." not in verdict and abs(number) < 2**53 else number


def _label(verdict: Verdict | None) -> Verdict | None:
    return verdict if verdict is None or isinstance(verdict, frozenset) else str(verdict)


def _row(
    line: _Line, repeated: Counter[tuple[str, ...]], *, to_kind: Callable[[Verdict | None], Verdict | None]
) -> VerdictRow:
    optional: dict[str, Any] = {}
    attributes: dict[str, str | float] = {}
    for name, value in line.columns.items():
        if value is None or value == "" or name in _CORE:
            continue
        if name in _OPTIONAL:
            optional[name] = _OPTIONAL[name](line, name)
        else:
            attributes[name] = value
    key: dict[str, Any] = {name: line.text(name, default) for name, default in _KEY.items()}
    if not key["case_id"]:
        line.fail("case_id is empty.")
    verdict, outcome = _verdict(line)
    return VerdictRow(
        **key,
        repetition=_repetition(line, repeated, tuple(key.values())),
        verdict=to_kind(verdict),
        swapped=_swapped(line, key["perturbation"]),
        outcome=outcome,
        gold=_gold(line, to_kind),
        attributes=attributes,
        **optional,
    )


def _repetition(line: _Line, repeated: Counter[tuple[str, ...]], group: tuple[str, ...]) -> int:
    """Return the row's repetition, or its place in the file among otherwise equal rows."""
    repetition = line.integer("repetition")
    if repetition is None:
        repetition = repeated[group]
        repeated[group] += 1
    return repetition


def _verdict(line: _Line) -> tuple[Verdict | None, Any]:
    verdict = line.verdict("verdict")
    outcome = line.text("outcome", "unparsed" if verdict is None else "ok")
    if verdict == ABSTAIN:  # abstaining is the harness's decision; a judge that does not answer refused
        return None, "refused"
    if outcome not in OUTCOMES:
        line.fail(f"outcome {outcome!r} is not one of {', '.join(OUTCOMES)}.")
    if (verdict is None) == (outcome == "ok"):
        line.fail(f"outcome is {outcome!r} but the verdict is {'empty' if verdict is None else repr(verdict)}.")
    return verdict, outcome


def _gold(line: _Line, to_kind: Callable[[Verdict | None], Verdict | None]) -> Verdict | None:
    gold = line.verdict("gold")
    try:
        return to_kind(gold)
    except ValueError:
        line.fail(f"gold {gold!r} is not a number, but the verdicts of its criterion are.")


def _swapped(line: _Line, perturbation: str) -> bool:
    value = line.columns.get("swapped")
    if value is None or value == "":
        return perturbation.split("+").count("position_swap") % 2 == 1
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        line.fail(f"swapped {value!r} is not true or false.")
    return text in _TRUE
