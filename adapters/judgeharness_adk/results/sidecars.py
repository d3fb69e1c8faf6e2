"""The lines of sidecar files, read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from judgeharness_adk.results.records import AdkResult
from judgeharness_adk.sidecar import SCHEMA
from judgeharness_integrations import HarnessResult
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations._shapes import Shape, Text, misplaced
from judgeharness_integrations.aggregation.rules import RULE_NAMES, RuleLike
from judgeharness_integrations.reporting.document import RESULT_SCHEMA
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["read_sidecars"]

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
