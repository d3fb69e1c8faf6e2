"""What the rules look at and return: a file with its judges, findings, `noqa` comments, judges that stay unknown."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import libcst as cst
from libcst.metadata import PositionProvider

from .discovery import find_sites, imported_sites
from .evaluators import Given, given_evaluators, wrappers_of
from .flow import Flow
from .judges import asks_of
from .modules import ConfigSource, Source, may_evaluate
from .syntax import JudgeSite, Outline, last_name, span_of
from .view import ModuleView


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding; lines and columns count from 1. `message` is one sentence: what is wrong, what to do."""

    code: str
    path: Path
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    site: JudgeSite | None = field(default=None, compare=False)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Files in order of their names, findings from top to bottom."""
        return (self.path.as_posix(), self.line, self.column, self.code, self.message)

    def to_dict(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return {
            "code": self.code,
            "path": self.path.as_posix(),
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "message": self.message,
            "judge": None if self.site is None else f"{self.site.framework}/{self.site.kind}",
        }


class Inspection:
    """A Python file under inspection."""

    def __init__(self, source: Source) -> None:
        """Find its judges.

        Raises:
            SourceError: it cannot be parsed.

        """
        self.source = source
        own = find_sites(source)
        self.sites = (*own, *imported_sites(source.view)) if source.tree is not None else own
        self._flows: dict[tuple[JudgeSite, bool], Flow] = {}

    @property
    def view(self) -> ModuleView:
        """What its tree says."""
        return self.source.view

    @cached_property
    def judges(self) -> tuple[JudgeSite, ...]:
        """The judges of this file no harness asks."""
        return tuple(site for site in self.used if site.definition is None)

    @cached_property
    def used(self) -> tuple[JudgeSite, ...]:
        """The judges no harness asks, those of other scanned files that are used here too."""
        return tuple(site for site in self.sites if not site.harnessed and not site.deterministic)

    def asks(self, site: JudgeSite) -> tuple[cst.Call, ...]:
        """The calls that ask a judge; one written by hand is such a call itself."""
        if site.node is None:
            return ()
        if site.uses:
            return site.uses
        if site.by_hand:
            return (site.node,)
        makers = (site.node, *wrappers_of(self.view, site.node)) if site.harnessed else (site.node,)
        return tuple(ask.call for made in makers for ask in asks_of(self.view, made))

    def calls(self, site: JudgeSite) -> list[cst.Call]:
        """The call that makes a judge, and those that ask it."""
        return [*([site.node] if site.node is not None else []), *self.asks(site)]

    def flow(self, site: JudgeSite, *, decisions: bool = True) -> Flow:
        """Where a judge's answers go."""
        if (site, decisions) not in self._flows:
            asks = self.asks(site)
            several = any(self._samples(ask) > 1 for ask in asks)
            self._flows[site, decisions] = Flow(self.view, asks, decisions=decisions, several=several)
        return self._flows[site, decisions]

    def _samples(self, ask: cst.Call) -> int:
        given = self.view.argument(ask, "n")
        value = self.view.value(given) if given is not None else 1
        return value if isinstance(value, int) else 1


class ConfigInspection:
    """An ADK config under inspection."""

    def __init__(self, source: ConfigSource) -> None:
        """Find its judges.

        Raises:
            SourceError: it is not JSON.

        """
        self.source = source
        self.sites = find_sites(source)

    @cached_property
    def judges(self) -> tuple[JudgeSite, ...]:
        """The metrics that ask a model and that no harness asks."""
        return tuple(site for site in self.sites if not site.harnessed and not site.deterministic)

    @cached_property
    def repeated(self) -> tuple[JudgeSite, ...]:
        """Those of them that ADK asks several times, whose answers it folds by majority."""
        return tuple(site for site in self.judges if site.samples != 1)


def described(site: JudgeSite) -> str:
    """Return a judge in words: `judge` (pairwise_string), final_response_match_v2."""
    if site.by_hand:
        return "this judge written by hand"
    return f"{site.name} ({site.kind})" if site.name and site.name != site.kind else site.kind


class Problem(NamedTuple):
    """What a rule finds: where a judge is made or asked, or at a node that has to do with one; and the sentence."""

    at: JudgeSite | cst.CSTNode
    message: str
    site: JudgeSite | None = None


PythonCheck: TypeAlias = Callable[[Inspection], Iterator[Problem]]
ConfigCheck: TypeAlias = Callable[[ConfigInspection], Iterator[Problem]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A failure mode of single-call judges.

    Args:
        code: as it stands in reports and in `noqa`.
        name: in two to four words.
        explanation: what goes wrong, what the evidence is, what to do; one paragraph.
        python, config: what finds it; of several problems at one place the first counts.

    """

    code: str
    name: str
    explanation: str
    python: PythonCheck = lambda _: iter(())
    config: ConfigCheck = lambda _: iter(())

    def findings(self, inspection: Inspection | ConfigInspection) -> Iterator[Finding]:
        """Yield what it finds in a file."""
        problems = self.python(inspection) if isinstance(inspection, Inspection) else self.config(inspection)
        seen = set[JudgeSite | cst.CSTNode]()
        for at, message, about in problems:
            site: JudgeSite | None
            if at in seen:
                continue
            seen.add(at)
            if isinstance(at, JudgeSite):
                site, span = at, at.span
            else:  # a config has sites alone
                site, span = about, span_of(cast("Inspection", inspection).view, at)
            yield Finding(code=self.code, path=inspection.source.path, **span, message=message, site=site)


_LINE = re.compile(r"#\s*noqa(?P<list>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_FILE = re.compile(
    r"^\s*#\s*judgeharness\s*:\s*noqa(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?\s*$", re.IGNORECASE
)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)
_EVERY = frozenset({""})


@dataclass(frozen=True, kw_only=True)
class Suppressions:
    """Codes that are suppressed: in the whole file, and by line; an empty code stands for every one."""

    file: frozenset[str] = frozenset()
    lines: dict[int, frozenset[str]] = field(default_factory=dict)

    def hide(self, finding: Finding) -> bool:
        """Whether a finding is suppressed by its file, its first line or its last one."""
        places = (self.file, self.lines.get(finding.line, frozenset()), self.lines.get(finding.end_line, frozenset()))
        return any("" in codes or finding.code in codes for codes in places)


def suppressions_of(source: Source | ConfigSource) -> Suppressions:
    """Return what the comments of a Python file suppress; JSON has no comments."""
    if isinstance(source, ConfigSource) or "noqa" not in source.text.lower():
        return Suppressions()
    file: set[str] = set()
    lines: dict[int, frozenset[str]] = {}
    for number, text in _comments(source):
        whole = _FILE.match(text)
        if whole is not None:
            file |= _codes(whole["codes"])
            continue
        found = _LINE.search(text)
        if found is not None and not (found["list"] is None and re.match(r"\s*:", text[found.end() :])):
            lines[number] = _codes(found["codes"])
    return Suppressions(file=frozenset(file), lines=lines)


def _comments(source: Source) -> list[tuple[int, str]]:
    """Comments only: the words may stand in a string as well."""
    positions = source.wrapper.resolve(PositionProvider)
    return [(place.start.line, node.value) for node, place in positions.items() if isinstance(node, cst.Comment)]


def _codes(text: str | None) -> frozenset[str]:
    return _EVERY if text is None else frozenset(code.upper() for code in _CODE.findall(text))


_NAMES = re.compile(
    r"(?:^|_)(?:judges?|graders?)(?:$|_)|(?:[a-z0-9]|^)(?:LLM)?(?:Judge|Grader)$|^LLMJudge$|llm_as_judge", re.ASCII
)
_EVALUATORS = re.compile(r"(?:^|_)evaluators?$|[a-z]Evaluator$")
_NO_JUDGES = re.compile(
    r"(?i:config|result|results|error|settings|schema|response|prompt|prompts|verdict|score|input|output|case|exception|id|name)$"
)
_MODELS = re.compile(r"openai|anthropic|langchain|langsmith|openevals|litellm|\bllm|genai", re.IGNORECASE)
_METHODS = frozenset(
    {
        *("evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"),
        *("evaluate_agent_trajectory", "aevaluate_agent_trajectory"),
    }
)
# packages whose judges are not followed: what they are called with asks a model
_PACKAGES = re.compile(
    r"^(?:deepeval\.metrics|autoevals|ragas\.metrics|phoenix\.evals|azure\.ai\.evaluation|pydantic_evals\.evaluators"
    r"|inspect_ai\.scorer|mlflow\.genai\.(?:judges|scorers)|llama_index\.core\.evaluation|trulens\w*|dspy\.evaluate)\."
    r"(?:\w+\.)*(?P<name>\w+)$"
)
_ROOTS = re.compile(
    r"^(?:deepeval|autoevals|ragas|phoenix|azure|pydantic_evals|inspect_ai|mlflow|llama_index|trulens\w*|dspy)(?:$|\.)"
)
_JUDGES_THERE = re.compile(
    r"GEval|Metric$|Factuality|ClosedQA|Battle|Humor|Security|Summary|Possible|Faithful|Relevan|Correct|Groundedness"
    r"|Coherence|Fluency|Similarity$|LLM|llm_|model_graded|Judge|judge|Guideline|Hallucination|Evaluator$|SemanticF1"
    r"|Toxicity|Bias|Rubric|AspectCritic"
)
_ASK_NO_MODEL = re.compile(
    r"Levenshtein|Exact|Bleu|Rouge|Numeric|JSON|Json|F1Score|Meteor|Gleu|NonLLM|String|Embedding|Contains|Equals"
)
# their evaluators are found where they ask a model
_EVALUATING = re.compile(r"^(?:openevals|agentevals|langsmith|langchain\w*|judgeharness_\w+)\.")
_DYNAMIC = frozenset(
    {"getattr", "import_module", "__import__", "import_string", "locate", "load_class", "resolve_name"}
)
_TEXT = re.compile(
    r"\w*(?:[jJ]udge|[gG]rader|[eE]valuator)\w*\W{0,3}\(|evaluate_string|evaluate_agent_traj|\b(?:getattr|import_module)\b[^\n]*[jJ]udge"
    r"|\b(?:deepeval|autoevals|ragas|phoenix|pydantic_evals|inspect_ai|mlflow|llama_index|trulens\w*|azure)\b"
)


_CHAIN = "it is a chain, and LangSmith calls functions"


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """A judge by its name or its method, and why nothing more is known of it."""

    path: Path
    line: int
    column: int
    name: str
    why: str

    @property
    def todo(self) -> str:
        """What its author can do."""
        return "ask it in one" if self.why == _CHAIN else "name the file that makes it too, or wrap it there"

    def to_dict(self) -> dict[str, Any]:
        """Return what a machine reads."""
        place = {"path": self.path.as_posix(), "line": self.line, "column": self.column}
        return {**place, "name": self.name, "why": self.why}


def may_call_judges(text: str, outline: Outline) -> bool:
    """Whether a Python text may call something that looks like a judge: a search in its text and its names."""
    if may_evaluate(text):
        return True
    if not _TEXT.search(text):
        return False
    if not outline.called.isdisjoint(_METHODS | _DYNAMIC):
        return True
    if any(_ROOTS.match(full) for full in (*outline.imports.values(), *outline.stars)):
        return True
    models = bool(_MODELS.search(text))
    return any(_looks_like(name, models=models) for name in outline.called)


def unresolved_judges(inspection: Inspection) -> tuple[Unresolved, ...]:
    """Return the calls that look like a judge's and are none that was found, each name once."""
    view, found = inspection.view, dict[str, Unresolved]()
    known = {call for site in inspection.sites for call in (site.node, *inspection.asks(site))}
    models = bool(_MODELS.search(inspection.source.text))
    for call in view.calls:
        why = None if call in known else _reason(view, call, known, models=models)
        if why is not None:
            _note(found, inspection, call, call.func, why)
    for given in given_evaluators(view):
        why = _of_evaluator(view, given, known)
        if why is not None:
            _note(found, inspection, given.node, given.node, why)
    return tuple(found.values())


def _note(
    found: dict[str, Unresolved], inspection: Inspection, node: cst.CSTNode, called: cst.CSTNode, why: str
) -> None:
    name, place = inspection.view.module.code_for_node(called), inspection.view.position(node).start
    one = Unresolved(path=inspection.source.path, line=place.line, column=place.column + 1, name=name, why=why)
    found.setdefault(name, one)


def _of_evaluator(view: ModuleView, given: Given, known: set[cst.Call | None]) -> str | None:
    """What LangSmith's `evaluate` is given and no scanned file defines; evaluators of the frameworks are known."""
    origins = view.origins(given.node)
    if given.wrapped or given.functions or view.value(given.node) is not ...:
        return None
    if any(origin in known for origin in origins):
        return None
    if _is_chain(view, given.node):
        return _CHAIN
    named = [origin.func if isinstance(origin, cst.Call) else origin for origin in origins]
    names = {full for one in named if isinstance(one, (cst.Name, cst.Attribute)) for full in view.names(one)}
    if any(_EVALUATING.match(full) for full in names):
        return None
    if view.tree is not None and any(view.tree.holds(view.path, full) for full in names):
        return None
    return _outside(view, frozenset(names)) or "where it is made is not to be seen in the scanned files"


def _is_chain(view: ModuleView, node: cst.BaseExpression) -> bool:
    """Whether an expression, or the owner of a method, is `prompt | model | parser`."""
    origins = view.origins(node.value if isinstance(node, cst.Attribute) else node)
    return any(isinstance(origin, cst.BinaryOperation) and isinstance(origin.operator, cst.BitOr) for origin in origins)


def _reason(view: ModuleView, call: cst.Call, known: set[cst.Call | None], *, models: bool) -> str | None:
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS:
        return _of_method(view, call.func.value, known)
    names = view.names(call.func)
    for full in sorted(names):
        package = _PACKAGES.match(full)
        if package and _JUDGES_THERE.search(package["name"]) and not _ASK_NO_MODEL.search(package["name"]):
            return f"it is a judge of {full.partition('.')[0]}, which is not looked into"
    if isinstance(call.func, cst.Call):
        return _dynamic(view, call.func, models=models)
    if not _looks_like(last_name(call.func), models=models):
        return None
    return _outside(view, names) or _made_elsewhere(view, call.func)


def _looks_like(name: str, *, models: bool) -> bool:
    if _NO_JUDGES.search(name):
        return False
    return bool(_NAMES.search(name) or (models and _EVALUATORS.search(name)))


def _of_method(view: ModuleView, owner: cst.BaseExpression, known: set[cst.Call | None]) -> str | None:
    """An evaluator of LangChain by its method; a chain that asks itself is part of its definition."""
    origins = view.origins(owner)
    if any(
        isinstance(origin, cst.Call) and (origin in known or last_name(origin.func) == "super") for origin in origins
    ):
        return None
    if _is_held(view, origins):
        return None
    if last_name(owner) in {"self", "cls"} or any(isinstance(one, cst.ClassDef) for one in _makers(view, origins)):
        return None
    return "where it is made is not to be seen in the scanned files"


def _is_held(view: ModuleView, origins: tuple[cst.CSTNode, ...]) -> bool:
    """Whether what is asked was looked at where it is made, in this file or another, and is no judge of a model."""
    if view.tree is None:
        return False
    named = [origin.func if isinstance(origin, cst.Call) else origin for origin in origins]
    names = [full for one in named if isinstance(one, (cst.Name, cst.Attribute)) for full in view.names(one)]
    if any(view.tree.holds(view.path, full) for full in names):
        return True
    return any(isinstance(origin, cst.Name) and view.tree.has_fixture(view.path, origin.value) for origin in origins)


def _makers(view: ModuleView, origins: tuple[cst.CSTNode, ...]) -> Iterator[cst.CSTNode]:
    for one in origins:
        if isinstance(one, cst.Call):
            yield from view.origins(one.func)


def _outside(view: ModuleView, names: frozenset[str]) -> str | None:
    """A name that is imported from where no scanned file is."""
    for full in sorted(names):
        root = full.lstrip(".").partition(".")[0]
        if full.startswith("judgeharness_") or root in sys.stdlib_module_names or root == "":
            continue
        if view.tree is None or not view.tree.holds(view.path, full):
            return f"{full} is in none of the scanned files"
    return None


def _made_elsewhere(view: ModuleView, func: cst.BaseExpression) -> str | None:
    """A local name of what another package, or a look-up while the code runs, returns."""
    nodes = [func, *((func.value,) if isinstance(func, cst.Attribute) else ())]
    for made in (origin for node in nodes for origin in view.origins(node)):
        if isinstance(made, cst.Call):
            if last_name(made.func) in _DYNAMIC:
                return "it is looked up while the code runs"
            if isinstance(func, cst.Name):
                why = _outside(view, view.names(made.func))
                if why is not None:
                    return why
    return None


def _dynamic(view: ModuleView, func: cst.Call, *, models: bool) -> str | None:
    """`getattr(module, "judge")(text)`."""
    texts = (view.value(arg.value) for arg in func.args)
    if last_name(func.func) in _DYNAMIC and any(
        isinstance(text, str) and _looks_like(text, models=models) for text in texts
    ):
        return "it is looked up while the code runs"
    return None
