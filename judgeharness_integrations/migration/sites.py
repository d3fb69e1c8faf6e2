"""A judge in a file, and what a file offers to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypedDict

import libcst as cst

from judgeharness_integrations.migration.syntax import ModuleIndex, Outline

Framework: TypeAlias = Literal["langchain", "openevals", "langsmith", "adk", "handwritten"]
JudgeShape: TypeAlias = Literal["pairwise", "labels", "scores", "any"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeSite:
    """A judge in a file.

    Args:
        framework: whose judge it is.
        kind: the evaluator's name (`pairwise_string`, `llm_as_judge`, `LangChainStringEvaluator`, a metric of ADK);
            `invoke` for a model that is asked by hand, `run_evaluator` where that happens in an evaluator of LangSmith;
            `unknown` where only running the code tells.
        shape: what its verdicts are.
        node: the libcst call that makes or asks it; None in a config.
        line, column, end_line, end_column: lines count from 1, columns from 1, the end is exclusive.
        name: the variable it is bound to (`self.judge` for an attribute).
        is_async: whether it is asked with `await`; None where that is not seen.
        harnessed: a harness asks it already.
        deterministic: it asks no model (exact match, regex, JSON, distances).
        samples: how often the code asks it about one case; None for an unknown number of times.
        evidence: why it is taken for a judge.
        definition: of a judge of another scanned file, the file and line where it is made or asked; `node` is then its
            first use here and `uses` are all of them.

    """

    framework: Framework
    kind: str
    shape: JudgeShape
    node: cst.Call | None
    line: int
    column: int
    end_line: int
    end_column: int
    name: str | None = None
    is_async: bool | None = None
    harnessed: bool = False
    deterministic: bool = False
    samples: int | None = 1
    evidence: str
    definition: tuple[Path, int] | None = None
    uses: tuple[cst.Call, ...] = ()

    @property
    def by_hand(self) -> bool:
        """Whether it is a call that asks a model itself, and no evaluator of a framework."""
        return self.kind in {"invoke", "run_evaluator"}


class Span(TypedDict):
    """Lines and columns of a place, from 1; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def span_of(view: ModuleIndex, node: cst.CSTNode) -> Span:
    """Return where a node stands."""
    place = view.position(node)
    return Span(
        line=place.start.line, column=place.start.column + 1, end_line=place.end.line, end_column=place.end.column + 1
    )


RUN_METHODS = frozenset({"evaluate_run", "aevaluate_run", "__call__"})
"""What LangSmith calls of an object it is given as an evaluator."""


class OtherFiles(Protocol):
    """The files that are scanned with one, and what they offer each other; an `importer` is the file that asks."""

    def concerns(self, path: Path, text: str) -> bool:
        """Whether a file uses judges it imports, asks with words it imports, or has fixtures of a `conftest.py`."""
        ...

    def has(self, path: Path) -> bool:
        """Whether a Python file is one of these."""
        ...

    def home_of(self, importer: Path, full: str) -> Path | None:
        """Return the file of these that a module's name means, as a file imports it."""
        ...

    def speaking_of(self, word: str) -> tuple[Path, ...]:
        """Return the files a word stands in."""
        ...

    def outline(self, path: Path) -> Outline:
        """Return what a file binds and calls."""
        ...

    def holds(self, importer: Path, full: str) -> bool:
        """Whether a full name is bound in these files, judge or not."""
        ...

    def offer(self, importer: Path, full: str) -> Offer | None:
        """Return what a full name, as a file imports it, offers; None where it is no judge of these files."""
        ...

    def fixture(self, importer: Path, name: str) -> Offer | None:
        """Return the judge of a fixture that a `conftest.py` beside or above a test file gives it."""
        ...

    def has_fixture(self, importer: Path, name: str) -> bool:
        """Whether a `conftest.py` beside or above a file binds a name, judge or not."""
        ...

    def makes_harness(self, importer: Path, full: str) -> bool:
        """Whether a full name, as a file imports it, is bound to a `JudgeHarness` in these files."""
        ...

    def has_harness_fixture(self, importer: Path, name: str) -> bool:
        """Whether the `conftest.py` next to a file, beside or above it, binds a name to a `JudgeHarness`."""
        ...

    def evaluators(self, path: Path) -> tuple[Foreign, ...]:
        """Return what other files give to LangSmith's `evaluate` and import from a file, by its names there."""
        ...

    def words(self, importer: Path, full: str) -> str:
        """Return the texts in what a full name is bound to in these files."""
        ...


Role: TypeAlias = Literal["judge", "maker", "asker", "client", "class", "object"]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One name of a module.

    Args:
        role: `judge` is asked itself, a `maker` returns one, an `asker` asks one, a `client` asks a model what it is
            given; a `class`, and an `object` of one, have `methods` that do so.
        path, line: where the judge is made or asked.
        framework, kind, shape, name, is_async, harnessed: as of its site.
        methods: what the methods do.

    """

    role: Role
    path: Path
    line: int
    framework: Framework = "handwritten"
    kind: str = "invoke"
    shape: JudgeShape = "any"
    name: str | None = None
    is_async: bool | None = None
    harnessed: bool = False
    methods: Mapping[str, Offer] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """What another file gives to `evaluate`: an evaluator or a list of them, or what a function of it returns."""

    full: str
    several: bool = False
    called: bool = False
