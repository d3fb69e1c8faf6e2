"""Evaluators that compare with a reference or run a tool: what they ask no model about is asked once, as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from judgeharness_integrations.judging.byrule import ASKS_AN_EMBEDDING_MODEL, ASKS_NO_MODEL, identified, rule_identity
from judgeharness_integrations.judging.cases import Case
from judgeharness_integrations.judging.functionsource import UnreadableError, source_digest
from judgeharness_integrations.judging.judge import JudgeIdentity
from judgeharness_integrations.judging.structured import StructuredCase, value_text
from judgeharness_openevals._seams import closure_of
from judgeharness_openevals.introspecting import unwrapped

_MATCHERS = ("match", "strict", "subset", "superset", "unordered")
_BY_RULE = {
    "openevals.exact": ASKS_NO_MODEL,
    "openevals.string.levenshtein": ASKS_NO_MODEL,
    "openevals.string.embedding_similarity": ASKS_AN_EMBEDDING_MODEL,
    **{f"{package}.trajectory.{name}": ASKS_NO_MODEL for package in ("openevals", "agentevals") for name in _MATCHERS},
    "agentevals.graph_trajectory.strict": ASKS_NO_MODEL,
}
_FRAMEWORKS = ("openevals.", "agentevals.")
_CODE, _CODE_TOOLS = "openevals.code.base", ("openevals.code.pyright", "openevals.code.mypy", "openevals.code.e2b")
_JSON = "openevals.json.match"
_TOLD_ELSEWHERE = ("scorer", "judge", "model", "rubric", "use_reasoning")  # by the name, or of no account


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
        once = None if _asks_the_caller(closure) else _BY_RULE[module]
        return Comparison(name=_name(function, closure), asked_once=once)
    if module == _CODE and _module(closure.get("scorer")).startswith(_CODE_TOOLS):
        asks = closure.get("code_extraction_strategy") == "llm" and closure.get("code_extractor") is None
        if asks or _asks_the_caller(closure):
            return None
        return Comparison(name=str(closure.get("feedback_key")), asked_once=ASKS_NO_MODEL)
    if module != _JSON or "rubric" not in closure:
        return None
    averages = "average" in (closure.get("aggregator"), closure.get("list_aggregator"))
    rubric = closure["rubric"]
    return Comparison(
        name="json_match",
        asked_once=None if rubric else ASKS_NO_MODEL,
        binary=not averages,
        judged_keys=frozenset(rubric) if rubric else None,
        aggregator=closure.get("aggregator"),
        excluded=frozenset(closure.get("exclude_keys") or ()),
    )


def identity_of(evaluator: Any, comparison: Comparison | None, name: str) -> tuple[JudgeIdentity | None, str | None]:
    """Return what makes an evaluator that is no known judge the same one, or why that cannot be told.

    That is how a comparison is set, and the source of a function of the caller's own.
    """
    function = unwrapped(evaluator)[0]
    if comparison is not None and (comparison.asked_once is not None or _module(function) in _BY_RULE):
        return identified(lambda: _rule(evaluator, comparison))
    if is_of_framework(function):
        return None, None
    return identified(lambda: JudgeIdentity(name=name, source=source_digest(evaluator)))


def _rule(evaluator: Any, comparison: Comparison) -> JudgeIdentity:
    function, keywords = unwrapped(evaluator)
    module, closure = _module(function), closure_of(function)
    if module == _CODE:
        raise UnreadableError("it runs a tool, whose version and settings are not known")
    if getattr(function, "__closure__", None) and not closure:
        raise UnreadableError("how it is set cannot be read")
    packages = ("openevals",) if module.startswith("openevals.") else ("agentevals", "openevals")
    settings = {name: value for name, value in closure.items() if name not in _TOLD_ELSEWHERE} | keywords
    model = closure.get("model") if comparison.asked_once == ASKS_AN_EMBEDDING_MODEL else None
    return rule_identity(f"{module}.{comparison.name}", packages=packages, parameters=settings, model=model)


def is_of_framework(function: Any) -> bool:
    """Whether an evaluator is openevals' or agentevals' own, which logs its feedback itself in a test case."""
    return _module(unwrapped(function)[0]).startswith(_FRAMEWORKS)


def _name(function: object, closure: Mapping[str, Any]) -> str:
    if (mode := closure.get("trajectory_match_mode")) is not None:
        return f"trajectory_{mode}_match"
    if "algorithm" in closure:
        return "embedding_similarity"
    return str(getattr(function, "__name__", "")).removesuffix("_async")


def _asks_the_caller(closure: Mapping[str, Any]) -> bool:
    """Whether a function of the caller's own, which may ask a model, is among what an evaluator was made with."""
    held = (one for value in closure.values() for one in (value.values() if isinstance(value, Mapping) else (value,)))
    return any(callable(one) and not _module(one).startswith(_FRAMEWORKS) for one in held)


def _module(function: object) -> str:
    """Return the module a function was written in, whatever `functools.wraps` made it say; empty for other things."""
    return str(getattr(function, "__globals__", {}).get("__name__", ""))
