"""ADK's `test_config.json` and `agent.py`: a `judge_harness` block a metric, and the lines that register it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..frameworks import UNREACHABLE, at_temperature_zero, num_samples, option
from ..modules import Source
from .changes import ONCE, Action, ByHand, Change, Level, Rewrite
from .edits import Edit, Names, Places, edited, insertion, leading_imports

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
    return tuple(f"{change.kind} {ONCE}." for change in changes if change.once)


def _cost(metric: str, criterion: JsonValue) -> int | None:
    """Return the calls of a metric that has a block; None where a preset or the registration says what it is."""
    held = criterion.member(_KEY, _CAMEL) if isinstance(criterion, JsonObject) else None
    if held is None or not isinstance(held.value, Mapping) or "preset" in held.value:
        return None
    return _calls(metric, criterion.value, held.value)


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
        return (name if name in _METRICS else None), False
    function = str(option(option(custom.members[name].value, "code_config"), "name") or "")
    metric = function.removeprefix(_OURS)
    return (metric, True) if function.startswith(_OURS) and metric in _METRICS else (None, False)


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
    before = _calls(metric, criterion.value, None)
    block = block_for(metric, level, criterion.value)
    after = _calls(metric, criterion.value, block)
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
    if level == "single" or not _is_neutral(metric, held.value):
        return None
    before = _calls(metric, criterion.value, block_for(metric, "single", criterion.value))
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


_NEUTRAL_RULE, _MEASURED_RULE = "majority", "supermajority(2/3)"
_FEWEST = 2  # rubrics that can stand in another order


@dataclass(frozen=True, kw_only=True)
class AdkMetric:
    """What of a metric's prompt can be varied, and how often ADK itself asks.

    `other_order` is the perturbation that puts its parts in another order; `reformat` stands in for it where there is
    one rubric alone, or no order at all. `segments` is whether a question is asked first that finds the sentences, and
    `once` whether ADK ignores `num_samples`.
    """

    other_order: str | None
    reformat: str | None = None
    rubrics: bool = True
    segments: bool = False

    @property
    def once(self) -> bool:
        """Whether ADK asks for each verdict once, whatever `num_samples` says."""
        return self.segments


_METRICS: Mapping[str, AdkMetric] = {
    "rubric_based_final_response_quality_v1": AdkMetric(other_order="rubric_order", reformat="format_change"),
    "rubric_based_tool_use_quality_v1": AdkMetric(other_order="rubric_order"),
    "rubric_based_multi_turn_trajectory_quality_v1": AdkMetric(other_order="rubric_order", reformat="format_change"),
    "final_response_match_v2": AdkMetric(other_order="position_swap", rubrics=False),
    "hallucinations_v1": AdkMetric(other_order="rubric_order", rubrics=False, segments=True),
    # no rubrics and no second text: the other wording of a turn is its format; the first turn and the end have none
    "per_turn_user_simulator_quality_v1": AdkMetric(other_order=None, reformat="format_change", rubrics=False),
}


def block_for(metric: str, level: Level, criterion: Any) -> dict[str, Any]:
    """Return the block: at `single` what ADK asked and folded, at `measured` two orders of what the judge reads.

    A judge at temperature 0 is measured once in each order.

    Args:
        metric: one of `_METRICS`.
        level: how much is to be measured.
        criterion: the metric's criterion in the configuration, a mapping or a threshold.

    """
    facts = _METRICS[metric]
    if level == "single":
        repetitions = {"repetitions": 1} if facts.once else {}
        return {"perturbations": ["none"], "aggregation_rule": _NEUTRAL_RULE} | repetitions
    if facts.other_order is not None and (not facts.rubrics or _rubrics(criterion) >= _FEWEST):
        names = ["none", facts.other_order]
    else:
        names = ["none", *([facts.reformat] if facts.reformat else [])]
    # one sentence has no other order, and an empty response no other format: neither is to fail the metric
    unfit = {"on_unfit": "skip"} if facts.segments or facts.reformat in names else {}
    once = {"repetitions": 1} if at_temperature_zero(criterion) else {}
    return {"perturbations": names, "aggregation_rule": _MEASURED_RULE} | once | unfit


def _is_neutral(metric: str, block: Any) -> bool:
    """Whether a block is what the level `single` writes, or its preset."""
    return bool(block == {"preset": "single"} or block == block_for(metric, "single", {}))


def _calls(metric: str, criterion: Any, block: Mapping[str, Any] | None) -> int:
    """Return the judge calls of one invocation, ADK's own where there is no block.

    They are the most there can be: of a block that skips what does not fit, some may fall away.
    """
    facts = _METRICS[metric]
    if block is None:
        return 2 if facts.once else num_samples(criterion)
    repetitions = block.get("repetitions") or num_samples(criterion)
    perturbations: Sequence[str] = block.get("perturbations") or ("none",)
    return int(facts.segments) + len(perturbations) * repetitions


def _rubrics(criterion: Any) -> int:
    rubrics = criterion.get("rubrics") if isinstance(criterion, Mapping) else None
    return len(rubrics) if isinstance(rubrics, list) else 0


_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True)
class JsonValue:
    """One value: what it is, and from where to where it stands (`end` excluded)."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True, kw_only=True)
class JsonObject(JsonValue):
    """An object with its members, of which the last one counts where a key stands twice.

    `first_key` is where the first key stands; `spaced` is whether a blank follows the colon behind it.
    """

    members: Mapping[str, JsonValue] = field(default_factory=dict)
    first_key: int | None = None
    spaced: bool = True

    def member(self, *names: str) -> JsonValue | None:
        """Return the member of the first of the names that is there."""
        return next((self.members[name] for name in names if name in self.members), None)


def _json_value(text: str, start: int = 0) -> JsonValue:
    """Return the value that stands at `start`, objects inside objects with their members.

    Raises:
        ValueError: it is no JSON.

    """
    start = _after_space(text, start)
    if text[start : start + 1] != "{":
        value, end = _DECODER.raw_decode(text, start)
        return JsonValue(start=start, end=end, value=value)
    members: dict[str, JsonValue] = {}
    spaced = True
    place = first = _after_space(text, start + 1)
    while text[place : place + 1] != "}":
        if text[place : place + 1] != '"':
            raise json.JSONDecodeError("Expecting a key in double quotes", text, place)
        key, place = _DECODER.raw_decode(text, place)
        place = _after_space(text, place)
        if text[place : place + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, place)
        spaced = text[place + 1 : place + 2] in _SPACE if not members else spaced
        members[key] = _json_value(text, place + 1)
        place = _next_member(text, members[key].end)
    value = {key: member.value for key, member in members.items()}
    return JsonObject(
        start=start, end=place + 1, value=value, members=members, first_key=first if members else None, spaced=spaced
    )


def json_document(text: str) -> JsonValue:
    """Return the only value of a text.

    Raises:
        ValueError: it is no JSON, something stands behind it, or it nests too deeply.

    """
    try:
        document = _json_value(text)
    except RecursionError:
        raise ValueError("it nests too deeply to be read") from None
    if (end := _after_space(text, document.end)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return document


def _next_member(text: str, place: int) -> int:
    """Return the place of the next key, or of the brace that ends the object."""
    place = _after_space(text, place)
    if text[place : place + 1] == "}":
        return place
    if text[place : place + 1] != ",":
        raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
    following = _after_space(text, place + 1)
    if text[following : following + 1] == "}":
        raise json.JSONDecodeError("Illegal trailing comma", text, place)
    return following


def _after_space(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _SPACE:
        place += 1
    return place


_MODULE = "judgeharness_adk"
_BEHIND_IMPORTS = 100  # what is imported at the same place stands before


def registered(source: Source) -> tuple[str, Change]:
    """Return a module with `judgeharness_adk.register()` behind its imports, and the change.

    Raises:
        SourceError: it cannot be parsed.

    """
    places = Places(source)
    names = Names(places)
    lines = leading_imports(places.view.module)
    anchors = [line.body[0] for line in lines]
    beside = next((one for one in anchors if "google.adk" in places.of(one)), anchors[-1] if anchors else None)
    said = names.of(_MODULE, None, at=places.view.module, beside=beside)
    place = places.line_end(places.end(lines[-1])) if lines else len(source.text)
    edit = _call(places, place, f"{said}.register()")
    change = Change(line=places.line(lines[-1]) if lines else 1, framework="adk", kind="register", action="registered")
    return edited(source.text, [*names.edits(), edit]), change


def _call(places: Places, place: int, call: str) -> Edit:
    """Return the edit that writes a call with a blank line on either side."""
    newline, text = places.newline, places.text
    before = "" if not place or text[place - 1] in "\r\n" else newline
    following = text[place : places.line_end(place)]
    after = newline if following.strip() else ""
    return insertion(place, f"{before}{newline}{call}{newline}{after}", rank=_BEHIND_IMPORTS)
