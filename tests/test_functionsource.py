"""A plain function is known again by its source and what decides how it answers."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.functionsource import UnreadableError, source_digest
from judgeharness_integrations.judging.judge import JudgeIdentity

Written = Callable[[str], ModuleType]

SOURCE = """
from string import ascii_letters as LETTERS
from elsewhere_texts import BORROWED, shout

GREETING = "Be fair."
PROMPT = GREETING + " Answer PASS or FAIL."
SEEN = []
case = "not the judge's"


def helper(text):
    return text.strip()


def judge(case, strict=True, *, tone="mild"):
    SEEN.append(case)
    return (PROMPT, helper(case), LETTERS, BORROWED, shout)


def other(case):
    return "PASS"


def countdown(case):
    return countdown(case[1:]) if case else "PASS"


def make(prompt):
    def judge(case):
        return prompt

    return judge
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Write a module and import it; each time under another path, so that no source of the last one is kept."""
    elsewhere = ModuleType("elsewhere_texts")
    vars(elsewhere).update(BORROWED="borrowed", shout=str.upper)
    monkeypatch.setitem(sys.modules, "elsewhere_texts", elsewhere)
    numbers = iter(range(100))

    def write(source: str) -> ModuleType:
        name = f"written_judge_{next(numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return write


def test_the_same_source_is_the_same_function_wherever_it_stands(written: Written) -> None:
    one, two = written(SOURCE), written(f"import os\n\n\n{SOURCE}")
    assert source_digest(one.judge) == source_digest(two.judge)
    one.judge("called ")
    assert source_digest(one.judge) == source_digest(two.judge)
    assert source_digest(one.judge) != source_digest(one.other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("helper(case),", "helper(case) + '!',"),  # its own text
        ("Answer PASS", "Say PASS"),  # a constant it uses
        ("Be fair.", "Be strict."),  # a constant that one uses
        ("text.strip()", "text.lower()"),  # a helper
        ("SEEN = []", "SEEN = [1]"),
        ("strict=True", "strict=False"),
        ('tone="mild"', 'tone="harsh"'),
    ],
)
def test_what_decides_how_it_answers_is_part_of_it(written: Written, before: str, after: str) -> None:
    assert before in SOURCE
    assert source_digest(written(SOURCE).judge) != source_digest(written(SOURCE.replace(before, after)).judge)


@pytest.mark.parametrize(
    ("before", "after"),
    [("not the judge's", "another case"), ('return "PASS"\n\n\ndef count', 'return "FAIL"\n\n\ndef count')],
)
def test_what_it_does_not_use_is_no_part_of_it(written: Written, before: str, after: str) -> None:
    assert before in SOURCE
    assert source_digest(written(SOURCE).judge) == source_digest(written(SOURCE.replace(before, after)).judge)


def test_an_imported_text_counts_by_its_value_and_an_imported_function_by_its_name(written: Written) -> None:
    one, two, three = written(SOURCE), written(SOURCE), written(SOURCE)
    two.BORROWED = "returned"
    three.shout = str.lower
    assert source_digest(one.judge) != source_digest(two.judge)
    assert source_digest(one.judge) == source_digest(three.judge)


def test_a_default_that_was_replaced_is_another_function(written: Written) -> None:
    one, two = written(SOURCE), written(SOURCE)
    two.judge.__defaults__ = (False,)
    assert source_digest(one.judge) != source_digest(two.judge)


def test_what_a_function_closes_over_counts_by_value(written: Written) -> None:
    make = written(SOURCE).make
    assert source_digest(make("a")) == source_digest(make("a"))
    values: list[Any] = ["a", "b", 1, True, None, ("a", 1), frozenset({"a"}), str, len, sys, written(SOURCE).other]
    digests = {source_digest(make(value)) for value in [*values, partial(make, "a"), partial(make, prompt="b")]}
    assert len(digests) == len(values) + 2


@pytest.mark.parametrize("value", [["a"], {"a": 1}, object(), ("a", ["b"])])
def test_what_cannot_be_compared_is_said(written: Written, value: object) -> None:
    with pytest.raises(UnreadableError, match=r"its `prompt` is a (list|dict|object), which cannot be compared"):
        source_digest(written(SOURCE).make(value))


def test_a_partial_is_its_function_and_its_arguments(written: Written) -> None:
    module = written(SOURCE)
    digests = [
        source_digest(one)
        for one in (
            module.judge,
            partial(module.judge),
            partial(module.judge, tone="a"),
            partial(module.judge, tone="b"),
            partial(module.judge, strict="b"),
            partial(module.other, tone="b"),
        )
    ]
    assert len(set(digests)) == len(digests)
    with pytest.raises(UnreadableError, match="its `tone` is a list"):
        source_digest(partial(module.judge, tone=[]))


def test_a_function_that_calls_itself_is_read_once(written: Written) -> None:
    assert source_digest(written(SOURCE).countdown) == source_digest(written(SOURCE).countdown)


def counter() -> Callable[[object], int]:
    calls = 0

    def judge(case: object) -> int:
        nonlocal calls
        calls += 1
        return calls

    return judge


def unbound() -> Callable[[object], object]:
    def judge(case: object) -> object:
        return late

    if len("x") > 1:
        late = 1
    return judge


class Scorer:
    def __call__(self, case: object) -> str:
        return "PASS"

    def method(self, case: object) -> str:
        return "PASS"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda case: "PASS", "a lambda has no name"),
        (partial(lambda case: "PASS"), "a lambda has no name"),
        (Scorer(), "a Scorer has no source of its own"),
        (Scorer().method, "a method has no source of its own"),
        (len, "a builtin_function_or_method has no source of its own"),
        (counter(), "it changes `calls` from call to call"),
        (eval("lambda: 0").__class__, "a type has no source of its own"),  # noqa: S307
    ],
)
def test_what_has_no_source_of_its_own_has_no_identity_and_says_so(function: Any, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        source_digest(function)


def test_a_cell_that_is_not_bound_yet_says_nothing() -> None:
    assert source_digest(unbound()) == source_digest(unbound())


NOTEBOOK = """
PROMPT = "Answer PASS or FAIL."
def helper(case):
    return case
def judge(case):
    return PROMPT, helper(case)
"""


def typed(source: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a cell as a notebook does: its lines are kept, its module has no file."""
    import linecache

    name = f"<cell {hash(source)}>"
    monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(keepends=True), name))
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), names)  # noqa: S102
    return names


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [("Answer", "Say"), ("return case", "return case * 2")])
def test_in_a_notebook_texts_and_helpers_count_as_they_are(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, again, other = (typed(s, monkeypatch) for s in (NOTEBOOK, NOTEBOOK, NOTEBOOK.replace(before, after)))
    assert source_digest(one["judge"]) == source_digest(again["judge"])
    assert source_digest(one["judge"]) != source_digest(other["judge"])


def test_a_function_without_a_file_cannot_be_read() -> None:
    names: dict[str, Any] = {}
    exec("def judge(case):\n    return 'PASS'\n", names)  # noqa: S102
    with pytest.raises(UnreadableError, match="its source cannot be read"):
        source_digest(names["judge"])
    judge: Any = as_judge(names["judge"])
    assert (judge.identity, judge.unidentified) == (None, "its source cannot be read")


def test_a_judge_is_known_by_name_and_source(written: Written) -> None:
    function = written(SOURCE).judge
    assert as_judge(function).identity == JudgeIdentity(name="judge", source=source_digest(function))
    assert JudgeIdentity(name="judge").to_dict().keys() == JudgeIdentity(name="x", source="y").to_dict().keys() - {
        "source"
    }
