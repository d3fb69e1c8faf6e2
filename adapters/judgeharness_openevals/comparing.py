"""Evaluators that compare with a reference or run a tool: what they ask no model about is asked once, as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from judgeharness_integrations.cases import Case
from judgeharness_integrations.structured import StructuredCase, value_text
from judgeharness_openevals._seams import closure_of
from judgeharness_openevals.protocol import unwrapped

__all__ = ["Comparison", "comparison_of", "is_of_framework"]

_NO_MODEL = "asks no model"
_EMBEDDING = "asks an embedding model, which answers alike each time"
_MATCHERS = ("match", "strict", "subset", "superset", "unordered")
_BY_RULE = {
    "openevals.exact": _NO_MODEL,
    "openevals.string.levenshtein": _NO_MODEL,
    "openevals.string.embedding_similarity": _EMBEDDING,
    **{f"{package}.trajectory.{name}": _NO_MODEL for package in ("openevals", "agentevals") for name in _MATCHERS},
    "agentevals.graph_trajectory.strict": _NO_MODEL,
}
_CODE, _CODE_TOOLS = "openevals.code.base", ("openevals.code.pyright", "openevals.code.mypy", "openevals.code.e2b")
_JSON = "openevals.json.match"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An evaluator of openevals or agentevals that compares.

    `name` is its feedback key, as far as that is one for all its results. `asked_once` says why one unperturbed call
    says all there is; None where a model judges the `judged_keys` of the outputs, and the others are compared by
    equality. `binary`: its scores 0 and 1 are FAIL and PASS. Where a model judges, `aggregator` folds the keys into one
    result, and `excluded` keys have none.
    """

    name: str
    asked_once: str | None = None
    binary: bool = False
    judged_keys: frozenset[str] | None = None
    aggregator: str | None = None
    excluded: frozenset[str] = frozenset()

    def keys(self, case: Case) -> tuple[str, ...]:
        """Return the feedback keys of a case where they are a list, which is known before a model has answered."""
        if self.judged_keys is None or not isinstance(case, StructuredCase):
            return ()
        if self.aggregator is not None:
            return (f"{self.name}:{self.aggregator}",)
        sides = (side if isinstance(side, list) else [side] for side in (case.outputs, case.reference_outputs))
        named = {str(key) for side in sides for one in side if isinstance(one, Mapping) for key in one}
        return tuple(f"{self.name}:{key}" for key in sorted(named - self.excluded))

    def view(self, case: Case) -> Case:
        """Return a case of which perturbations leave alone what is compared by equality."""
        if self.judged_keys is None or type(case) is not StructuredCase:
            return case
        fields = {name: getattr(case, name) for name in StructuredCase.__dataclass_fields__}
        return _PartlyJudgedCase(**fields, judged_keys=self.judged_keys)


@dataclass(frozen=True, kw_only=True)
class _PartlyJudgedCase(StructuredCase):
    """A case of which only some keys of the outputs are read by a model."""

    judged_keys: frozenset[str] = frozenset()

    def texts(self) -> tuple[str, ...]:
        """Return the texts of the judged keys."""
        judged = self._judged()
        return replace(self._plain(), outputs=judged).texts() if judged else ()

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with the texts of the judged keys changed."""
        changed = replace(self._plain(), outputs=self._judged()).with_texts(change).outputs
        if isinstance(self.outputs, list):
            outputs: Any = [_merged(one, part) for one, part in zip(self.outputs, changed, strict=True)]
        else:
            outputs = _merged(self.outputs, changed)
        return replace(self, outputs=outputs, output=value_text(outputs))

    def _plain(self) -> StructuredCase:
        return StructuredCase(**{name: getattr(self, name) for name in StructuredCase.__dataclass_fields__})

    def _judged(self) -> Any:
        """Return the outputs with the judged keys alone."""
        if isinstance(self.outputs, list):
            return [self._part(one) for one in self.outputs]
        return self._part(self.outputs)

    def _part(self, value: Any) -> Any:
        given = value if isinstance(value, Mapping) else {}
        return {key: part for key, part in given.items() if key in self.judged_keys}


def _merged(value: Any, changed: Mapping[Any, Any]) -> Any:
    return {**value, **changed} if isinstance(value, Mapping) else value


def comparison_of(function: Any) -> Comparison | None:
    """Return what is known of an evaluator that compares; None for a judge, and for a function of the caller's own."""
    function = unwrapped(function)[0]
    module, closure = _module(function), closure_of(function)
    if module in _BY_RULE:
        return Comparison(name=_name(function, closure), asked_once=_BY_RULE[module])
    if module == _CODE and _module(closure.get("scorer")).startswith(_CODE_TOOLS):
        asks = closure.get("code_extraction_strategy") == "llm" and closure.get("code_extractor") is None
        return None if asks else Comparison(name=str(closure.get("feedback_key")), asked_once=_NO_MODEL)
    if module != _JSON or "rubric" not in closure:
        return None
    averages = "average" in (closure.get("aggregator"), closure.get("list_aggregator"))
    rubric = closure["rubric"]
    return Comparison(
        name="json_match",
        asked_once=None if rubric else _NO_MODEL,
        binary=not averages,
        judged_keys=frozenset(rubric) if rubric else None,
        aggregator=closure.get("aggregator"),
        excluded=frozenset(closure.get("exclude_keys") or ()),
    )


def is_of_framework(function: Any) -> bool:
    """Whether an evaluator is openevals' or agentevals' own, which logs its feedback itself in a test case."""
    return _module(unwrapped(function)[0]).startswith(("openevals.", "agentevals."))


def _name(function: object, closure: Mapping[str, Any]) -> str:
    if (mode := closure.get("trajectory_match_mode")) is not None:
        return f"trajectory_{mode}_match"
    if "algorithm" in closure:
        return "embedding_similarity"
    return str(getattr(function, "__name__", "")).removesuffix("_async")


def _module(function: object) -> str:
    return str(getattr(function, "__module__", ""))
