"""Every class and function of the API reference ends with an example that runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
from typing import Any

import pytest
from support.doc_pages import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.untraced, pytest.mark.filterwarnings("default")]  # frameworks warn
pytest.importorskip("griffe", reason="the documentation's tools come with the extra dev")


def module() -> Any:
    spec = importlib.util.spec_from_file_location("documentation_examples", ROOT / "docs" / "examples.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def named(name: str) -> Any:
    place, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(place), attribute)


@pytest.mark.parametrize(("name", "session"), [pytest.param(*one, id=one[0]) for one in module().examples().items()])
def test_an_example_runs_prints_what_it_shows_and_is_about_its_name(name: str, session: str) -> None:
    if inspect.isfunction(named(name)):  # an object of a class may be what something else returns
        assert name.rpartition(".")[2] in session
    test = doctest.DocTestParser().get_doctest(session, {"__name__": "__main__"}, name, None, 0)
    assert any(example.want for example in test.examples)
    printed: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    assert printed == []
    assert max(map(len, session.splitlines())) <= 80


def test_every_documented_name_has_an_example() -> None:
    there = {id(named(name)) for name in module().examples()}
    missing = sorted(name for name, value in module().documented().items() if id(value) not in there)
    assert missing == [], "give them an example: docs/examples/*.pycon"


def test_no_name_has_two_examples() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "examples").glob("*.pycon")]
    heads = [head for text in texts for head in re.findall(r"^## (\S+)$", text, re.MULTILINE)]
    assert sorted(set(heads)) == sorted(heads)
