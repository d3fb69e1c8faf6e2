"""ADK's `test_config.json`: a `judge_harness` block for each metric that asks a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from judgeharness_integrations.migration.recognising.adk import UNREACHABLE, option
from judgeharness_integrations.migration.rewriting.adkblocks import (
    METRICS,
    at_temperature_zero,
    block_for,
    calls,
    is_neutral,
)
from judgeharness_integrations.migration.rewriting.edits import Edit, edited, insertion
from judgeharness_integrations.migration.rewriting.jsontext import JsonObject, JsonValue, json_document
from judgeharness_integrations.migration.rewriting.noting import ONCE
from judgeharness_integrations.migration.rewriting.outcome import Action, ByHand, Change, Level, Rewrite

__all__ = ["needs_registration", "rewritten_config"]

_KEY, _CAMEL = "judge_harness", "judgeHarness"
_OURS = "judgeharness_adk."
_STANDS_IN = (
    "ADK folded the samples of a verdict by majority, and so does this block; two things differ: a tie is an "
    "abstention (it fails as ADK's negative did), and a sample that fails or cannot be read is counted. With fewer "
    "than half of them valid nothing is decided, which now fails the eval: of a judge whose answers cannot be read "
    "ADK said NOT_EVALUATED, and a case whose other metrics passed did pass."
)


def rewritten_config(text: str, level: Level, *, registered: bool = False) -> Rewrite:
    """Return a config with its metrics at a level; nothing but blocks is written, and never a lower level.

    Args:
        text: the JSON.
        level: `single` asks what ADK asked; `measured` asks in two orders.
        registered: the agent calls `judgeharness_adk.register()` already: a metric without a block is harnessed.

    Raises:
        ValueError: the text is no JSON.

    """
    document = json_document(text)
    criteria = _object(document, "criteria")
    if criteria is None:
        return Rewrite(before=text, after=text)
    edits, changes, by_hand, harnessed = [], [], [], []
    for name, criterion in criteria.members.items():
        metric, own = _metric(name, document)
        if metric is None:
            by_hand += _unreachable(text, name, criterion)
            continue
        found = _edits(text, metric, criterion, level, harnessed=registered or own)
        if found is None:
            harnessed.append(_cost(metric, criterion))
            continue
        edits += found[0]
        changes.append(found[1])
    notes = (_STANDS_IN,) if level == "single" and changes else _frozen(changes)
    return Rewrite(
        before=text,
        after=edited(text, edits),
        changes=tuple(changes),
        by_hand=tuple(by_hand),
        harnessed_calls=tuple(harnessed),
        notes=notes,
    )


def _frozen(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(f"{one.kind} {ONCE}." for one in changes if one.once)


def _cost(metric: str, criterion: JsonValue) -> int | None:
    """Return the calls of a metric that has a block; None where a preset or the registration says what it is."""
    held = criterion.member(_KEY, _CAMEL) if isinstance(criterion, JsonObject) else None
    if held is None or not isinstance(held.value, Mapping) or "preset" in held.value:
        return None
    return calls(metric, criterion.value, held.value)


def needs_registration(text: str) -> bool:
    """Whether a config has a metric that `judgeharness_adk.register()` puts under a harness.

    Raises:
        ValueError: the text is no JSON.

    """
    document = json_document(text)
    criteria = _object(document, "criteria")
    found = [] if criteria is None else [_metric(name, document) for name in criteria.members]
    return any(metric is not None and not own for metric, own in found)


def _object(document: JsonValue, *names: str) -> JsonObject | None:
    member = document.member(*names) if isinstance(document, JsonObject) else None
    return member if isinstance(member, JsonObject) else None


def _metric(name: str, document: JsonValue) -> tuple[str | None, bool]:
    """Return which metric of ADK a criterion is, None for others, and whether its function is ours."""
    custom = _object(document, "custom_metrics", "customMetrics")
    if custom is None or name not in custom.members:
        return (name if name in METRICS else None), False
    function = str(option(option(custom.members[name].value, "code_config"), "name") or "")
    metric = function.removeprefix(_OURS)
    return (metric, True) if function.startswith(_OURS) and metric in METRICS else (None, False)


def _unreachable(text: str, name: str, criterion: JsonValue) -> list[ByHand]:
    if name not in UNREACHABLE:
        return []
    why = "a service or ADK's own simulation judges it: there is no prompt to ask again"
    todo = "nothing; read it as one sample, or judge the same with a rubric-based metric"
    return [ByHand(line=_line(text, criterion), framework="adk", kind=name, why=why, todo=todo)]


def _edits(
    text: str, metric: str, criterion: JsonValue, level: Level, *, harnessed: bool
) -> tuple[list[Edit], Change] | None:
    """Return the edits of one criterion and what they come to, None where it is at that level already."""
    before = calls(metric, criterion.value, None)
    block = block_for(metric, level, criterion.value)
    after = calls(metric, criterion.value, block)
    if not isinstance(criterion, JsonObject):
        if not isinstance(criterion.value, (int, float)) or (harnessed and level == "single"):
            return None
        made = [
            insertion(criterion.start, '{"threshold": '),
            insertion(criterion.end, f', "{_KEY}": {json.dumps(block)}}}'),
        ]
        return made, _change(text, metric, criterion, "wrapped", (before, after))
    held = criterion.member(_KEY, _CAMEL)
    if held is None:
        if harnessed and level == "single":
            return None
        return [_added(text, criterion, block)], _change(text, metric, criterion, "wrapped", (before, after))
    if level == "single" or not is_neutral(metric, held.value):
        return None
    before = calls(metric, criterion.value, block_for(metric, "single", criterion.value))
    written = Edit(start=held.start, end=held.end, text=_written(text, criterion, block))
    return [written], _change(text, metric, criterion, "raised", (before, after))


def _change(text: str, metric: str, criterion: JsonValue, action: Action, cost: tuple[int, int]) -> Change:
    line = _line(text, criterion)
    return Change(
        line=line,
        framework="adk",
        kind=metric,
        action=action,
        calls_before=cost[0],
        calls_after=cost[1],
        once=at_temperature_zero(criterion.value),
    )


def _line(text: str, criterion: JsonValue) -> int:
    return text.count("\n", 0, criterion.start) + 1


def _added(text: str, criterion: JsonObject, block: Mapping[str, Any]) -> Edit:
    member = f'"{_KEY}":{" " if criterion.spaced else ""}{_written(text, criterion, block)}'
    if not criterion.members:
        return insertion(criterion.start + 1, member)
    end = max(found.end for found in criterion.members.values())
    between = _lead(text, criterion) or (" " if criterion.spaced else "")
    return insertion(end, f",{between}{member}")


def _written(text: str, criterion: JsonObject, block: Mapping[str, Any]) -> str:
    """Return the block laid out like the criterion it stands in: on one line, or a line a key."""
    lead = _lead(text, criterion)
    separators = (", ", ": ") if criterion.spaced else (",", ":")
    if not lead:
        return json.dumps(block, separators=separators)
    inner = lead + _unit(text, criterion)
    colon = separators[1]
    members = (f'"{key}"{colon}{json.dumps(value, separators=separators)}' for key, value in block.items())
    return "{" + inner + f",{inner}".join(members) + lead + "}"


def _lead(text: str, criterion: JsonObject) -> str:
    """Return the line break and indentation before a member, empty where members share a line."""
    if criterion.first_key is None:
        return ""
    lead = text[criterion.start + 1 : criterion.first_key]
    newline = lead.rfind("\n")
    if newline < 0:
        return ""
    start = newline - 1 if lead[newline - 1 : newline] == "\r" else newline
    return lead[start:]


def _unit(text: str, criterion: JsonObject) -> str:
    """Return by how much a member is indented more than the brace that ends the object."""
    line = text[: criterion.end - 1].rpartition("\n")[2]
    closing = line if not line.strip() else ""
    inner = _lead(text, criterion).lstrip("\r\n")
    return inner.removeprefix(closing) if inner.startswith(closing) and inner != closing else "  "
