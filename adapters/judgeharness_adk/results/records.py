"""The lines of a sidecar, read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from judgeharness_adk.judges import JUDGES
from judgeharness_adk.sidecar import SCHEMA
from judgeharness_integrations import HarnessResult
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.aggregation.rules import RuleLike
from judgeharness_integrations.fingerprint import Fingerprint
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["AdkResult", "read_sidecars"]


@dataclass(frozen=True, kw_only=True)
class AdkResult:
    """The measurement of one invocation by one metric; of `hallucinations_v1`, of one step of the invocation.

    `rubrics` maps the rubrics shown to their texts; `standing` are those of the metric's own criterion; `parts` is
    what the fingerprint covers. What ADK's results say of the invocation is None where none knows it: `app`,
    `eval_set_id`, `eval_id`, `turn` (1-based), `run` (1-based, of the runs of that eval case in order of time), what
    the user (`input`) and the agent (`output`) said, the expected response (`reference`), and the earlier turns and
    this turn's tool calls (`context`).
    """

    result: HarnessResult
    metric: str
    invocation_id: str
    rubrics: Mapping[str, str] = field(repr=False)
    standing: tuple[str, ...]
    parts: Mapping[str, Any] | None = field(repr=False)
    app: str | None = None
    eval_set_id: str | None = None
    eval_id: str | None = None
    turn: int | None = None
    run: int | None = None
    input: str | None = None
    output: str | None = None
    reference: str | None = None
    context: str | None = None

    @property
    def joined(self) -> bool:
        """Whether a result of ADK knows the invocation."""
        return self.eval_id is not None

    @cached_property
    def fingerprint(self) -> str | None:
        """Digest of the judge's configuration; None when it declares no identity."""
        return None if self.parts is None else Fingerprint(self.parts).digest

    @property
    def pooled(self) -> str | None:
        """What the criteria are called where they are other questions in every invocation: `sentences`."""
        judge = JUDGES.get(self.result.judge)
        return None if judge is None else judge.pooled


def read_sidecars(paths: Iterable[Path], rules: Mapping[str, RuleLike]) -> tuple[list[AdkResult], list[str]]:
    """Return the measurements of sidecar files, and what is to be known about the files.

    A line that is there twice counts once. An invocation that was judged again by the same metric has its last
    measurement: that of the later file, and in a file of the later line.

    Raises:
        ConfigError: a file or a line cannot be read; file and line are named.

    """
    kept: dict[tuple[str, str], AdkResult] = {}
    notes: list[str] = []
    seen: set[bytes] = set()
    replaced = 0
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            digest = hashlib.sha256(line.strip()).digest()
            if not line.strip() or digest in seen:
                continue
            seen.add(digest)
            one = _read(line, f"{path}, line {number}", rules)
            if one is None:
                notes.append(f"{path}, line {number}: is cut off, as when a process is killed, and was skipped")
                continue
            key = (one.metric, one.result.case_id)
            replaced += kept.pop(key, None) is not None
            kept[key] = one
    if replaced:
        notes.append(f"{replaced} measurements were replaced by later ones of the same invocation and metric")
    return list(kept.values()), notes


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _read(line: bytes, where: str, rules: Mapping[str, RuleLike]) -> AdkResult | None:
    """Return the measurement of a line, None of one that lacks its end."""
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            return None
        raise ConfigError(f"{where}: is not JSON ({safe_text(str(error), 120)}).") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ConfigError(f"{where}: is not of schema {SCHEMA} (found {safe_text(repr(schema), 60)}).")
    misfit = next((name for name, fits in _LINE.items() if not fits(data.get(name))), None)
    if misfit is not None:
        raise ConfigError(f"{where}: is damaged, its {misfit!r} is not what a measurement holds there.")
    try:
        result = HarnessResult.from_dict(data["result"], rule=_own_rule(data["result"], rules))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    if any((row.case_id, row.judge) != (result.case_id, result.judge) for row in result.rows):
        raise ConfigError(f"{where}: is damaged, its rows are of another case or judge than its result.")
    return AdkResult(
        result=result,
        metric=data["metric"],
        invocation_id=data["invocation_id"],
        rubrics=data["rubrics"],
        standing=tuple(data["standing"]),
        parts=data.get("parts"),
        input=data.get("input"),
        output=data.get("output"),
    )


def _own_rule(document: Mapping[str, Any], rules: Mapping[str, RuleLike]) -> RuleLike | None:
    name = document.get("aggregation_rule")
    return rules.get(name) if isinstance(name, str) else None


def _text(value: object) -> bool:
    return isinstance(value, str)


# What stands where in a line; further keys are not looked at.
_LINE: Mapping[str, Callable[[Any], bool]] = {
    "metric": lambda value: _text(value) and bool(value),
    "invocation_id": _text,
    "rubrics": lambda value: isinstance(value, dict) and all(map(_text, value.values())),
    "standing": lambda value: isinstance(value, list) and all(map(_text, value)),
    "parts": lambda value: value is None or isinstance(value, dict),
    "result": lambda value: isinstance(value, dict),
    "input": lambda value: value is None or _text(value),
    "output": lambda value: value is None or _text(value),
}
