from __future__ import annotations

import re

import pytest

from judgeharness_integrations import _errors
from judgeharness_integrations._errors import (
    BudgetError,
    JudgeHarnessError,
    LogFormatError,
    NotInstalledError,
    UnknownNameError,
    UsageError,
)


def test_the_drawn_tree_is_the_tree() -> None:
    drawn = re.findall(r"(?:├──|└──)\s(\w+)", _errors.__doc__ or "")
    assert sorted([*drawn, "JudgeHarnessError"]) == sorted(_errors.__all__)
    for name in _errors.__all__:
        error = getattr(_errors, name)
        assert issubclass(error, JudgeHarnessError)
        nested = re.search(rf"│   (?:├──|└──) {name} ", _errors.__doc__ or "") is not None
        assert nested == (issubclass(error, UsageError) and error is not UsageError)


def test_all_is_sorted() -> None:
    assert _errors.__all__ == sorted(_errors.__all__)


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("majorty", ["median", "majority"], "unknown rule 'majorty': did you mean 'majority'?"),
        ("xyz", ["b", "a"], "unknown rule 'xyz': known: a, b."),
        ("xyz", [], "unknown rule 'xyz': known: none."),
    ],
)
def test_an_unknown_name_offers_the_nearest_known(name: str, known: list[str], sentence: str) -> None:
    assert str(UnknownNameError("rule", name, known)) == sentence


def test_errors_say_where_and_what_to_do() -> None:
    assert str(LogFormatError.at("log.csv", 3, "case_id is empty.")) == "log.csv, line 3: case_id is empty."
    assert str(NotInstalledError("langchain-core", "langchain")) == (
        "langchain-core is not installed: pip install '.[langchain]' in the source folder of judgeharness"
    )


def test_a_budget_is_no_usage_error() -> None:
    assert not issubclass(BudgetError, UsageError)
