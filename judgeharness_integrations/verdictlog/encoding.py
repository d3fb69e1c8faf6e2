"""A row as the columns of a file, and texts as spreadsheets, stores and people can take them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from judgeharness_integrations._errors import UnknownNameError

from .row import ABSTAIN, Verdict, VerdictRow, verdict_text, verdict_to_json

QUOTE: Final = "'"  # what stands before a text that a spreadsheet would run
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - full-width forms count, too
_NUMBER = re.compile(r"[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)  # runs nowhere, and is to stay a number


def calibration_run(run: str) -> str:
    """Return the run that rows of a run's labelled cases carry."""
    return f"{run}{CALIBRATION_RUN}"


def defused(text: str) -> str:
    """Return a text with a quote before it where a spreadsheet would take it for a formula.

    One that begins with a quote is given another, so that taking one off gives back every text.
    """
    if text[:1] not in _FORMULA and text[:1] != QUOTE:
        return text
    return text if _NUMBER.fullmatch(text) else QUOTE + text


# U+001A SUBSTITUTE is made for characters that cannot be stored; texts without any of these are kept as they are
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def stored(text: str) -> str:
    """Return the text with NUL, U+001A and lone surrogates as U+001A and four hexadecimal digits."""
    if text.isascii() and "\x00" not in text and "\x1a" not in text:
        return text
    return _UNSAFE.sub(lambda match: f"\x1a{ord(match[0]):04x}", text)


def restored(text: str) -> str:
    """Return the text that `stored` was given."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "\x1a" in text else text


LOG_SCHEMA = "judgeharness.log/1"
QUOTED = f"{LOG_SCHEMA} quoted"  # a row of CSV in which quotes stand before texts that a spreadsheet would run
# How a file is encoded: half an emoji (a model cut off at its token limit) becomes the JSON escape it came from.
LONE_SURROGATES = "backslashreplace"
ROW_FIELDS = tuple(field.name for field in fields(VerdictRow) if field.name != "attributes")
COLUMNS = (*ROW_FIELDS, "schema")
_VERDICTS = ("verdict", "gold")
_VERDICT = ROW_FIELDS.index("verdict")
_values = attrgetter(*ROW_FIELDS)
_ALWAYS = frozenset({"case_id", "verdict", "judge", "criterion", "perturbation", "repetition", "swapped", "outcome"})


def to_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as one JSON object; fields that hold nothing are left out, attributes stand beside the rest."""
    record = field_record(row)
    if not row.attributes:
        return record
    return record | {name: value for name, value in attribute_columns(row).items() if name not in record}


def field_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as `to_record` does, without its attributes."""
    record = {
        name: value
        for name, value in zip(ROW_FIELDS, _values(row), strict=True)
        if (value is not None and value != "") or name in _ALWAYS
    }
    for name in _VERDICTS:
        if isinstance(record.get(name), frozenset):
            record[name] = verdict_to_json(record[name])
    if row.abstains:
        record["verdict"] = ABSTAIN
    if row.probabilities is not None:
        record["probabilities"] = dict(row.probabilities)
    record["schema"] = LOG_SCHEMA
    return record


def attribute_columns(row: VerdictRow) -> dict[str, str | float]:
    """Return column -> attribute; one named like a field of the row (`model` of a case) gets a `_` behind it."""
    return {f"{name}_" if name in COLUMNS else name: value for name, value in row.attributes.items()}


def _cell(value: Verdict | Mapping[str, float] | None) -> str | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(sorted(value), ensure_ascii=False) if isinstance(value, frozenset) else value


def to_cells(row: VerdictRow, attributes: Sequence[str], *, quoted: bool = False) -> list[str | float]:
    """Return a row as CSV cells: `COLUMNS`, then the named attribute columns.

    Where a spreadsheet would run a cell, or `quoted` is given, quotes stand before texts and the row says so in its
    schema; other rows hold every text as it is.
    """
    given = attribute_columns(row)
    cells = [*(_cell(getattr(row, name)) for name in ROW_FIELDS), *(_cell(given.get(name)) for name in attributes)]
    safe = [defused(cell) if isinstance(cell, str) else cell for cell in cells]
    runs = any(
        cell is not own and own[:1] != QUOTE for cell, own in zip(safe, cells, strict=True) if isinstance(own, str)
    )
    place, cells = len(ROW_FIELDS), safe if runs or quoted else cells
    if row.abstains:
        cells[_VERDICT] = ABSTAIN
    return [*cells[:place], QUOTED if runs or quoted else LOG_SCHEMA, *cells[place:]]


def unquoted(columns: dict[str, str]) -> dict[str, str]:
    """Return the columns of a row of CSV with its texts as they were."""
    if columns.get("schema") != QUOTED:
        return columns
    texts = {name.removeprefix(QUOTE): text.removeprefix(QUOTE) for name, text in columns.items()}
    return {**texts, "schema": LOG_SCHEMA}


ROW_COLUMNS = (*ROW_FIELDS, "attributes")
CHARACTERS = "characters"  # how long one answer is
LENGTH_COLUMNS = (("length_a", "length_b"), ("length", "length_b"))  # how long the two answers of a pair are
CLUSTER_COLUMN = "cluster"  # the attribute of rows whose equal values belong together
PAIR_COLUMN = "pair_digest"  # what a pair asks, whichever of its answers comes first
TEXT_COLUMN = "text_digest"  # what a case asks, its answers in their order
CALIBRATION_RUN = "/calibration"  # ends the name of the run of a run's labelled cases
CALL_COLUMNS = ("response_id", "cached", "warning", "parser_conflict", "output_mode")  # what a row tells of its call
LABEL_COUNT = "label_count"  # how many annotators labelled a case
PLANNED_CASES = "planned_cases"  # on rows of a run that ended early, where they are exported: how many cases it had
ENDED_BY = "ended_by"  # beside it: `gate` of one that its own gates ended, else the state it ended in
REUSED_FROM = "reused_from"  # the attribute of a row that was taken from an earlier run: the run that paid


@lru_cache(maxsize=4096, typed=True)  # typed: 7 equals 7.0, and neither is "7"
def _encoded(verdict: Verdict) -> str:
    return json.dumps(verdict_to_json(verdict))


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Verdict:
    value = json.loads(text)
    return frozenset(value) if isinstance(value, list) else value


def _stored(text: str | None) -> str | None:
    return None if text is None else stored(text)


def _restored(text: str | None) -> str | None:
    return None if text is None else restored(text)


def to_values(row: VerdictRow) -> tuple[Any, ...]:
    """Return the values of `ROW_COLUMNS`."""
    attributes = row.attributes
    return (
        stored(row.case_id),
        None if row.verdict is None else _encoded(row.verdict),
        stored(row.run),
        stored(row.judge),
        stored(row.criterion),
        stored(row.perturbation),
        row.repetition,
        row.swapped,
        row.outcome,
        None if row.gold is None else _encoded(row.gold),
        _stored(row.call_id),
        _stored(row.reasoning),
        _stored(row.raw),
        _stored(row.model),
        row.input_tokens,
        row.output_tokens,
        row.cached_input_tokens,
        row.cache_write_tokens,
        _stored(row.service_tier),
        _stored(row.finish_reason),
        row.latency_s,
        row.attempts,
        _stored(row.error),
        _stored(row.asked_at),
        _stored(row.probe_hash),
        None if row.probabilities is None else json.dumps(dict(row.probabilities)),
        json.dumps(dict(attributes)) if attributes else None,
    )


def to_row(values: Sequence[Any]) -> VerdictRow:
    """Return the row of the values of `ROW_COLUMNS`."""
    case_id, verdict, run, judge, criterion, perturbation, repetition, swapped, outcome, gold, *evidence = values
    call_id, reasoning, raw, model, input_tokens, output_tokens, cached_input, cache_write, *last = evidence
    service_tier, finish_reason, latency_s, attempts, error, asked_at, probe_hash, probabilities, attributes = last
    return VerdictRow(
        case_id=restored(case_id),
        verdict=None if verdict is None else _decoded(verdict),
        run=restored(run),
        judge=restored(judge),
        criterion=restored(criterion),
        perturbation=restored(perturbation),
        repetition=repetition,
        swapped=bool(swapped),
        outcome=outcome,
        gold=None if gold is None else _decoded(gold),
        call_id=_restored(call_id),
        reasoning=_restored(reasoning),
        raw=_restored(raw),
        model=_restored(model),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_input_tokens=cached_input,
        cache_write_tokens=cache_write,
        service_tier=_restored(service_tier),
        finish_reason=_restored(finish_reason),
        latency_s=latency_s,
        attempts=attempts,
        error=_restored(error),
        asked_at=_restored(asked_at),
        probe_hash=_restored(probe_hash),
        probabilities=json.loads(probabilities) if probabilities else None,
        attributes=json.loads(attributes) if attributes else {},
    )


def columns_together(name: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the columns of a name: several with commas between, unless one of those that are known is called so."""
    if name in known:
        return (name,)
    return tuple(dict.fromkeys(part.strip() for part in name.split(",") if part.strip())) or (name,)


def values_together(values: Sequence[str]) -> str:
    """Return what a case says in several columns as one text, which tells `a, b` beside `c` from `a` beside `b, c`."""
    if len(values) == 1:
        return values[0]
    return ", ".join(json.dumps(value, ensure_ascii=False) if {*',"'} & {*value} else value for value in values)


def check_columns(name: str | None, known: Collection[str]) -> None:
    """Refuse a name of columns of which one is not known.

    Raises:
        UnknownNameError: it names the column, and those that are known.

    """
    for column in () if name is None else columns_together(name, known):
        if column not in known:
            raise UnknownNameError("column", column, known)


SENTENCE = 2_000  # characters: no sentence of ours is cut, only what a judge or a name made endless
_SMALLEST_P = 0.001  # that is shown
_SPLIT_SECOND = re.compile(r"(?<=[T ][0-9]{2}:[0-9]{2}:[0-9]{2})[.,][0-9]+")


def safe_text(text: str, limit: int = 400) -> str:
    """Return a text on one line without control and bidi characters, cut at `limit` characters."""
    given = text[: 4 * limit]
    if not given.isprintable():
        given = "".join(c if c.isprintable() else " " for c in given)
    shown = " ".join(given.split())
    return shown if len(shown) <= limit and len(text) <= 4 * limit else shown[: limit - 1] + "…"


def counted(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 case`, `2,000 cases`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def listed(names: Sequence[str], most: int = 6, between: str = ", ") -> str:
    """Return the first names, and how many more there are: `a, b and 3 more`, or `a, 1; b, 2; and 3 more`."""
    more = f"{' ' if between == ', ' else between}and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def number_text(value: float | None) -> str:
    """Return a rate with up to three decimals (`0.625`, `1.0`), `none` when it was not measured."""
    if value is None:
        return "none"
    return f"{value:.3f}".rstrip("0") + ("0" if f"{value:.3f}".endswith(".000") else "")


def fixed(value: float | None, digits: int = 3) -> str:
    """Return `0.120`, `-` for what was not measured, and never a zero with a minus."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as `83.1`, `-` for what was not measured."""
    return fixed(None if value is None else 100 * value, 1)


def share(part: int, whole: int) -> str:
    """Return `89.3 of 419`: a share of a number of things, in per cent."""
    return f"{percent(part / whole if whole else None)} of {whole}"


def ends(interval: tuple[float | None, float | None] | None, digits: int = 3, *, scale: float = 1) -> str:
    """Return an interval as `[0.050, 0.130]`, `-` where there is none."""
    low, high = interval or (None, None)
    return "-" if low is None or high is None else f"[{fixed(scale * low, digits)}, {fixed(scale * high, digits)}]"


def p_text(value: float | None, *, none: str = "-") -> str:
    """Return a p-value as `.031`, `1.000` or `<.001`; `none` when there is none."""
    if value is None:
        return none
    return "<.001" if value < _SMALLEST_P else f"{value:.3f}".removeprefix("0")


def time_text(written: str) -> str:
    """Return an ISO 8601 time to the second, as people read it; any other text as it is."""
    return _SPLIT_SECOND.sub("", written)


def distribution_text(distribution: Mapping[Verdict, int]) -> str:
    """Return `{PASS: 5, FAIL: 3}`."""
    return (
        "{"
        + ", ".join(f"{safe_text(verdict_text(verdict), 60)}: {count}" for verdict, count in distribution.items())
        + "}"
    )
