"""JH013: a test that passes, or a mean that comes out, where the judge decided nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.judged import Judged
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.transfers import guards_of
from judgeharness_integrations.migration.tree import last_name, walk
from judgeharness_integrations.migration.undecided import Raised, Undecided

__all__ = ["UNDECIDED_PASSES"]

_CODE = "JH013"
_FRAMEWORKS = frozenset({"langchain", "openevals"})  # their results hold a value or a score
_SUMS = frozenset({"sum", "fsum", "nansum"})
_MEANS = frozenset({"mean", "fmean", "average", "nanmean", "median", "nanmedian"})
_NUMBERS = frozenset({"float", "int"})
_GATHERS = frozenset({"array", "asarray", "Series", "list", "tuple"})
_FAILING = frozenset({"fail", "exit", "skip", "_exit", "xfail"})
_COMPARING: Final[dict[str, type[cst.BaseCompOp]]] = {
    "assertEqual": cst.Equal,
    "assertNotEqual": cst.NotEqual,
    "assertIn": cst.In,
    "assertNotIn": cst.NotIn,
    "assertIs": cst.Is,
    "assertIsNot": cst.IsNot,
    "assertGreater": cst.GreaterThan,
    "assertGreaterEqual": cst.GreaterThanEqual,
    "assertLess": cst.LessThan,
    "assertLessEqual": cst.LessThanEqual,
}
_TRUTHS = {"assertTrue": True, "assert_": True, "assertFalse": False}


@dataclass(frozen=True, kw_only=True)
class _Test:
    """A statement that ends a test unless its expressions come to what they should.

    `wanted` is the truth value of the expression with which the test goes on; `how` compares two expressions. `leaves`:
    the test is left otherwise, and does not fail.
    """

    node: cst.CSTNode
    given: tuple[cst.BaseExpression, ...]
    wanted: bool = True
    how: type[cst.BaseCompOp] | None = None
    leaves: bool = False

    def goes_on(self, undecided: Undecided) -> bool | None:
        """Whether the test goes on where nothing was decided; None where only running it tells."""
        if self.how is not None:
            undecided.note_none(self.given)
        try:
            values = [undecided.value(one) for one in self.given]
            found = values[0] if self.how is None else undecided.compared(values[0], self.how, values[1])
        except Raised:
            return False
        if not isinstance(found, (bool, int, float, str, tuple, type(None))):
            return None
        return bool(found) is self.wanted


def _python(inspection: Inspection) -> Iterator[Finding]:
    seen: set[cst.CSTNode] = set()
    tests = list(_tests(inspection))
    for site in inspection.sites:
        if site.framework not in _FRAMEWORKS or site.deterministic:
            continue
        judged = Judged(inspection.view, inspection.flow(site, decisions=False))
        passing = _passing(judged, tests)
        for node, message in [*_assertions(site, passing), *_folds(judged, site, passing, tests)]:
            if node not in seen:
                seen.add(node)
                yield inspection.finding(_CODE, node, message, site)


def _passing(judged: Judged, tests: list[_Test]) -> list[_Test]:
    """Return the tests that pass without a verdict and that nothing else in their function makes fail then."""
    found = []
    for one in tests:
        undecided = Undecided(judged)
        goes_on = not one.leaves and one.goes_on(undecided)
        silent = goes_on and undecided.seen and not undecided.explicit
        if silent and not _guarded(judged, one.node, undecided.seen, tests):
            found.append(one)
    return found


def _guarded(
    judged: Judged, node: cst.CSTNode, results: set[str], tests: list[_Test], *, by_name: bool = False
) -> bool:
    """Whether a place is not reached, or another test of its function fails, where the results hold no decision.

    `by_name`: only tests count that speak of None or of the status.
    """
    for condition in guards_of(judged.view, node):
        undecided = Undecided(judged, results)
        _Test(node=condition, given=(condition,)).goes_on(undecided)  # type: ignore[arg-type]
        if undecided.seen:
            return True
    function = judged.view.function_of(node)
    for one in tests:
        if one.node is not node and judged.view.function_of(one.node) is function:
            undecided = Undecided(judged, results)
            if one.goes_on(undecided) is False and undecided.seen and (undecided.explicit or not by_name):
                return True
    return False


def _assertions(site: JudgeSite, passing: list[_Test]) -> Iterator[tuple[cst.CSTNode, str]]:
    for one in passing:
        message = (
            f"this passes where {described(site)} gives no verdict (None: an abstention, or a tie): say which verdicts "
            "are good with == or in, or assert first that there is one."
        )
        yield one.node, message


def _tests(inspection: Inspection) -> Iterator[_Test]:
    for node in inspection.view.nodes:
        match node:
            case cst.Assert(test=test):
                yield _Test(node=node, given=(test,))
            case cst.If(test=test, body=body, orelse=None) if (ends := _ends(body)) is not None:
                yield _Test(node=node, given=(test,), wanted=False, leaves=ends)
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name)), args=args) if name.startswith("assert"):
                given = tuple(arg.value for arg in args)
                if name in _TRUTHS and given:
                    yield _Test(node=node, given=given[:1], wanted=_TRUTHS[name])
                elif name in _COMPARING and len(given) > 1:
                    yield _Test(node=node, given=given[:2], how=_COMPARING[name])
                elif name == "assertIsNotNone" and given:
                    yield _Test(node=node, given=given[:1])


def _ends(body: cst.CSTNode) -> bool | None:
    """Whether a branch leaves the test without failing it; None where the test goes on behind it."""
    for node in walk(body, stop=(cst.FunctionDef, cst.If, cst.For, cst.While)):
        match node:
            case cst.Raise():
                return False
            case cst.Call(func=func) if last_name(func) in _FAILING:
                return last_name(func) in {"skip", "xfail"}
            case cst.Return() | cst.Continue():
                return True
    return None


def _folds(
    judged: Judged, site: JudgeSite, passing: list[_Test], tests: list[_Test]
) -> Iterator[tuple[cst.CSTNode, str]]:
    within = {below for one in passing for below in walk(one.node)}
    for node in judged.view.nodes:
        found = _folded(judged, node)
        if found is None or node in within:
            continue
        way, results = found
        if not _guarded(judged, node, results, tests, by_name=True):
            message = (
                f"scores of {described(site)} become {way}, and a score is None where nothing was decided: assert "
                "first that each case was, or say what such a case is worth."
            )
            yield node, message


def _folded(judged: Judged, node: cst.CSTNode) -> tuple[str, set[str]] | None:
    """Return how an expression folds scores, and of which results."""
    match node:
        case cst.Call(func=func, args=[first, *_]) if last_name(func) in _SUMS | _MEANS:
            way, scores = "a sum" if last_name(func) in _SUMS else "a mean", _scores(judged, first.value)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name)), args=[]) if name in _SUMS | _MEANS:
            way, scores = "a sum" if name in _SUMS else "a mean", _scores(judged, owner)
        case cst.AugAssign(operator=cst.AddAssign(), value=value):
            way, scores = "a sum", _score(judged, value)
        case _:
            return None
    return None if scores is None else (way, {scores})


def _scores(judged: Judged, node: cst.CSTNode, depth: int = 0) -> str | None:
    """Return of whose results several scores are: a comprehension, a list that is filled, an array of either."""
    match node:
        case cst.ListComp(elt=elt, for_in=loop) | cst.GeneratorExp(elt=elt, for_in=loop):
            return None if any(_asks_for_none(judged, one.test) for one in loop.ifs) else _score(judged, elt)
        case cst.List(elements=elements):
            return next((found for one in elements if (found := _score(judged, one.value))), None)
        case cst.Call(func=func, args=[first, *_]) if last_name(func) in _GATHERS:
            return _scores(judged, first.value, depth)
        case cst.Name() if not depth:
            sources = judged.view.steps(node)
            filled = (found for one in judged.appended(node) if (found := _score(judged, one)))
            return next((found for one in sources if (found := _scores(judged, one, 1))), None) or next(filled, None)
    return None


def _score(judged: Judged, node: cst.CSTNode) -> str | None:
    """Return of whose result a score is: as it is, as a number, or with a default in its place."""
    match node:
        case cst.BooleanOperation(operator=cst.Or(), left=left):
            return judged.decision(left)
        case cst.Call(func=cst.Name(value=name), args=[first]) if name in _NUMBERS:
            return _score(judged, first.value)
    return judged.decision(node)


def _asks_for_none(judged: Judged, test: cst.BaseExpression) -> bool:
    """Whether a filter speaks of None or of the status."""
    undecided = Undecided(judged)
    _Test(node=test, given=(test,)).goes_on(undecided)
    return undecided.explicit


UNDECIDED_PASSES = Rule(
    code=_CODE,
    name="passes without a verdict",
    explanation=(
        "A judge's value or score is None where it gives no verdict: a tie, an abstention of a harness, too few valid "
        "answers. Some tests pass then: value != 'B', value not in ('B',), not value, all(... != 'B'), the equality "
        "of two values; sums and means end with a TypeError, or count such a case as 0 or not at all (score or 0, "
        "if score). Found where the value is read from the result of an evaluator of LangChain or openevals, harnessed "
        "or not, and nothing else in the same function fails on None, asks for it or looks at the status. Say which "
        "verdicts are good (== 'A', in ('A', 'TIE')), or assert that the status is decided first."
    ),
    python=_python,
)
