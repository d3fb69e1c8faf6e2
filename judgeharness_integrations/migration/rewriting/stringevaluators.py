"""LangSmith's removed `LangChainStringEvaluator`: replaced where that is mechanical."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst
from libcst import matchers

from judgeharness_integrations.migration.recognising.langchain import SHAPES, evaluator_kind
from judgeharness_integrations.migration.rewriting.deciding import by_hand
from judgeharness_integrations.migration.rewriting.edits import Edit, edited
from judgeharness_integrations.migration.rewriting.outcome import ByHand
from judgeharness_integrations.migration.rewriting.places import Places

if TYPE_CHECKING:
    from judgeharness_integrations.migration.sites import JudgeSite

__all__ = ["KIND", "Replacement", "replacement"]

KIND = "LangChainStringEvaluator"
_SCORES = frozenset({"score_string", "labeled_score_string"})
Said: TypeAlias = Callable[["cst.CSTNode"], str]
_KNOWN = frozenset({"evaluator", "config", "prepare_data"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Replacement:
    """A `LangChainStringEvaluator(...)` taken apart.

    `kind` is the evaluator it names, None where it is given one that is harnessed where it is made.
    """

    site: JudgeSite
    node: cst.Call
    kind: str | None
    evaluator: cst.BaseExpression
    config: cst.BaseExpression | None
    prepare: cst.BaseExpression | None

    def text(self, places: Places, said: Said, *, run_evaluator: str, loader: str, harness: str) -> str:
        """Return the call that takes its place.

        Args:
            places: the file.
            said: what stands in the place of an expression, edits inside it made.
            run_evaluator: what `HarnessRunEvaluator` is called here.
            loader: what `load_evaluator` is called here.
            harness: the harness, as an expression.

        """
        parts = [said(self.evaluator)]
        if self.kind is not None:
            parts = [f"{loader}({said(self.evaluator)}{self._options(places)})", harness]
        if self.prepare is not None:
            parts.append(f"prepare={said(self.prepare)}")
        key = self._key(places)
        if key is not None:
            parts.append(f"key={key}")
        return f"{run_evaluator}({', '.join(parts)})"

    def _options(self, places: Places) -> str:
        """Return `config={"llm": llm}` as `, llm=llm`; what is no such literal becomes `**config`."""
        config = self.config
        if config is None:
            return ""
        if not isinstance(config, cst.Dict) or not all(map(_keyword, config.elements)):
            return f", **{places.of(config)}"
        start = places.start(config) + 1
        inner = places.text[start : places.end(config) - 1]
        edits = [
            Edit(
                start=places.start(element.key) - start,
                end=places.start(element.value) - start,
                text=f"{_keyword(element)}=",
            )
            for element in config.elements
            if isinstance(element, cst.DictElement)
        ]
        written = edited(inner, edits)
        if not written.strip():
            return ""
        return f",{written}" if written[0] in "\r\n" else f", {written.strip().removesuffix(',')}"

    def _key(self, places: Places) -> str | None:
        """Return the feedback key as it was, where LangChain's name of the evaluation is not the criterion's."""
        if self.kind not in _SCORES:
            return None
        found = [e.value for e in getattr(self.config, "elements", ()) if _keyword(e) == "criteria"]
        name = places.view.value(found[0]) if found else "helpfulness"
        return f'"score_string:{name}"' if isinstance(name, str) and name.isidentifier() else None


def replacement(places: Places, site: JudgeSite, harnessed: Collection[cst.CSTNode]) -> Replacement | ByHand:
    """Return how a `LangChainStringEvaluator` is replaced, or why its author must do it.

    Args:
        places: the file.
        site: where it is made.
        harnessed: calls that make evaluators which are harnessed, or will be.

    """
    view, node = places.view, site.node
    evaluator = None if node is None else view.argument(node, "evaluator", 0)
    if node is None or evaluator is None or _other_arguments(node):
        return by_hand(site, "its arguments cannot be read off", "write HarnessRunEvaluator(evaluator, prepare=...)")
    config, prepare = view.argument(node, "config"), view.argument(node, "prepare_data")
    if _comments([node]) != _comments([one for one in (evaluator, config, prepare) if one is not None]):
        return by_hand(site, "comments stand between its arguments", "move them out, then run this command again")
    kind = evaluator_kind(view, evaluator)
    if kind is None and config is None and any(origin in harnessed for origin in view.origins(evaluator)):
        return Replacement(site=site, node=node, kind=None, evaluator=evaluator, config=None, prepare=prepare)
    if kind is None or kind not in SHAPES:
        asked = "which evaluator it runs is not said here" if kind is None else f"{kind} asks no model"
        return by_hand(site, f"LangSmith has removed it, and {asked}", "make it a function of outputs and reference")
    if SHAPES[kind] == "pairwise" or kind == "trajectory":
        todo = "compare experiments with judgeharness_langsmith.harness_comparative(evaluator)"
        return by_hand(site, f"a {kind} evaluator cannot judge a single run", todo)
    return Replacement(site=site, node=node, kind=kind, evaluator=evaluator, config=config, prepare=prepare)


def _other_arguments(node: cst.Call) -> bool:
    named = [arg.keyword.value for arg in node.args if arg.keyword is not None]
    positional = [arg for arg in node.args if arg.keyword is None]
    return not _KNOWN.issuperset(named) or len(positional) > 1 or any(arg.star for arg in node.args)


def _comments(nodes: Sequence[cst.CSTNode]) -> int:
    return sum(len(matchers.findall(node, matchers.Comment())) for node in nodes)


def _keyword(element: cst.BaseDictElement) -> str | None:
    """Return the key of a dict's element where it could be the name of an argument."""
    if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
        key = element.key.evaluated_value
        return key if isinstance(key, str) and key.isidentifier() else None
    return None
