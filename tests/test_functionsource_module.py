"""What the module of a function says decides whether it is the same function, and where the module is does not."""

from __future__ import annotations

import importlib.util
import linecache
import os
import re
import runpy
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from judgeharness_integrations.judging.functionsource import UnreadableError, source_digest

Written = Callable[[str], ModuleType]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Write a module and import it, each time under another name; `texts` is a module it may import."""
    texts = ModuleType("written_texts")
    vars(texts).update(PROMPT="a", NAMES=("a",), helper=str.upper, __all__=["PROMPT", "NAMES", "helper"])
    monkeypatch.setitem(sys.modules, "written_texts", texts)
    numbers = iter(range(100))

    def write(source: str) -> ModuleType:
        name = f"written_module_{next(numbers)}"
        path = tmp_path / name / "judges.py"
        path.parent.mkdir()
        path.write_text(source, encoding="utf-8")
        module = loaded(path, name)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return write


def loaded(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass in it looks for it there
    spec.loader.exec_module(module)
    del sys.modules[name]
    return module


JUDGE = "def judge(case):\n    return {}\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x1c", "\x0c"])
@pytest.mark.parametrize("source", ['X = """a{}b"""\nTEXT = """x\ny"""', '# a{}b\nTEXT = """x\ny"""'])
def test_lines_end_where_python_ends_them(written: Written, character: str, source: str) -> None:
    one, other = source.format(character), source.format(character).replace("x\ny", "x\nz")
    judge = JUDGE.format("TEXT[::-1]")
    if source.startswith("#") and character in {"\x1c", "\x85", "\u2028"}:
        assert len(one.splitlines()) > one.count("\n") + 1
    assert source_digest(written(f"{one}\n{judge}").judge) == source_digest(written(f"{one}\n{judge}").judge)
    assert source_digest(written(f"{one}\n{judge}").judge) != source_digest(written(f"{other}\n{judge}").judge)


def test_a_statement_may_begin_where_another_ends(written: Written) -> None:
    one, other = (f'X = """\n"""; TEXTS = ["{text}"]\n' + JUDGE.format("TEXTS") for text in "ab")
    assert source_digest(written(one).judge) != source_digest(written(other).judge)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        ('PROMPT = "a"', "PROMPT", "b"),
        ('PROMPT = ("a", ("b", 1))', "PROMPT", ("a", ("b", 2))),
        ("import re\nPROMPT = re.compile('a')", "PROMPT", re.compile("a", re.IGNORECASE)),
        ("for PROMPT in (3, 5):\n    pass", "PROMPT", 3),
        ("def setup(text):\n    global PROMPT\n    PROMPT = text\nPROMPT = None", "PROMPT", "b"),
        ("def PROMPT(case):\n    return 1", "PROMPT", lambda case: 2),
        ("PROMPT = lambda: 1", "PROMPT", lambda: 2),
        ("class PROMPT:\n    pass", "PROMPT", dict),
        ("from written_texts import PROMPT", "PROMPT", "b"),
        ("from written_texts import NAMES as PROMPT", "PROMPT", ("b",)),
        ("from written_texts import *", "PROMPT", "b"),
        ("from written_texts import PROMPT\nPROMPT = PROMPT + '!'", "PROMPT", "b!"),
        ("try:\n    from written_texts import PROMPT\nexcept ImportError:\n    PROMPT = 'x'", "PROMPT", "b"),
        ("from json import dumps as PROMPT\nPROMPT = PROMPT", "PROMPT", os.path.join),
        ("def PROMPT(case, given='a'):\n    return given", "PROMPT.__defaults__", ("b",)),
        ("import written_texts as PROMPT", "PROMPT.PROMPT", "b"),
    ],
)
def test_a_name_counts_by_its_value_too(
    written: Written, source: str, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = "PROMPT.PROMPT" if source.endswith("as PROMPT") and "texts as" in source else "PROMPT"
    module = written(f"{source}\n" + JUDGE.format(used))
    before = source_digest(module.judge)
    assert source_digest(module.judge) == before
    *path, last = name.split(".")
    monkeypatch.setattr(vars(module)[path[0]] if path else module, last, value)
    assert source_digest(module.judge) != before


STORED = """
PROMPT = {}
def stored(text):
    def one(function):
        PROMPT["p"] = text
        return function
    return one
TEXT = "strict"
@stored(TEXT)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "source",
    [
        'PROMPT = {}\nPROMPT["p"] = "strict"',
        'PROMPT = []\nPROMPT.append("strict")',
        'class PROMPT: pass\nPROMPT.model = "strict"',
        'class PROMPT: pass\nif True:\n    PROMPT.model = "strict"',
        STORED,
    ],
)
def test_a_statement_that_changes_an_object_is_part_of_it(written: Written, source: str) -> None:
    one, again, other = (
        f"{text}\n" + JUDGE.format("PROMPT") for text in (source, source, source.replace("strict", "lenient"))
    )
    assert source_digest(written(one).judge) == source_digest(written(again).judge)
    assert source_digest(written(one).judge) != source_digest(written(other).judge)


def test_what_decorates_a_function_is_part_of_it(written: Written) -> None:
    one, other = (written(text + JUDGE.format(1)) for text in (STORED, STORED.replace("strict", "lenient")))
    assert source_digest(one.judge) != source_digest(other.judge)


PLACED = """
import logging
from pathlib import Path
logger = logging.getLogger(__name__)
NAME = __name__ + ".judge"
HERE = str(Path(__file__).parent)
ROOT = str(Path(HERE).parent / "texts.txt")
class Rubric:
    text = "Be fair."
def helper(case):
    return Rubric
def make(rubric):
    def judge(case):
        return rubric
    return judge
def judge(case):
    logger.info(NAME)
    return (HERE, ROOT, __file__, helper(case), Rubric)
if __name__ == "__main__":
    logging.basicConfig()
    PROMPT = judge("case")
"""


def test_where_the_module_is_and_how_it_was_loaded_is_no_part_of_it(written: Written, tmp_path: Path) -> None:
    module = written(PLACED)
    file = Path(str(module.__file__))
    script = runpy.run_path(str(file), run_name="__main__")
    digest = source_digest(module.judge)
    assert source_digest(script["judge"]) == digest
    assert source_digest(loaded(file, "elsewhere_judges").judge) == digest
    assert source_digest(written(PLACED).judge) == digest
    assert source_digest(script["make"](script["Rubric"])) == source_digest(module.make(module.Rubric))
    assert source_digest(script["make"](script["Rubric"])) != source_digest(module.make(dict))
    other = written(PLACED.replace("texts.txt", "other.txt"))
    assert source_digest(other.judge) != digest


def test_what_a_script_changes_counts_where_it_is_the_script(written: Written) -> None:
    source = 'TEXTS = ["a"]\n' + JUDGE.format("TEXTS") + 'if __name__ == "__main__":\n    TEXTS.append("b")\n'
    module = written(source)
    script = runpy.run_path(str(module.__file__), run_name="__main__")
    assert source_digest(script["judge"]) != source_digest(module.judge)


def test_what_else_a_line_imports_is_no_part_of_it(written: Written) -> None:
    judge = JUDGE.format("OrderedDict()")
    one = written(f"from collections import OrderedDict\n{judge}").judge
    assert source_digest(one) == source_digest(written(f"from collections import OrderedDict, Counter\n{judge}").judge)


def test_what_a_module_warns_of_changes_nothing(written: Written) -> None:
    source = 'OTHER = "\\d"\nTEXTS = ["a"]\n' + JUDGE.format("TEXTS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = written(source)
    first = source_digest(module.judge)
    assert first == source_digest(written(source.replace("\\d", "d")).judge)


CLOSED = """
def make(held):
    def judge(case):
        return held
    return judge
def rubric(text):
    class Rubric:
        held = text
    return Rubric
def three(case, a, b, c):
    return (a, b, c)
"""


def test_a_method_of_a_value_is_told_by_the_value(written: Written) -> None:
    make = written(CLOSED).make
    for one, other in (("A {}".format, "B {}".format), (re.compile("a").search, re.compile("b").search)):
        assert source_digest(make(one)) != source_digest(make(other))
    with pytest.raises(UnreadableError, match="its `held` is a dict"):
        source_digest(make({"a": 1}.get))


def test_a_function_held_twice_is_told_from_another_one(written: Written) -> None:
    module = written(CLOSED)
    f, g = module.make(1), module.make(2)
    first, second = partial(module.three, a=f, b=g, c=f), partial(module.three, a=f, b=g, c=g)
    assert source_digest(first) != source_digest(second)


LOCAL = """
def rubric():
    class R:
        pass
    return R
def make(R):
    def judge(case):
        return R
    return judge
judge = make(rubric())
"""
COUNTED = """
calls = 0
def judge(case):
    global calls
    calls += 1
    return calls
"""
LAZY = """
client = None
def get():
    global client
    client = client or object()
    return client
def judge(case):
    return get()
"""
SET = """
client = None
def setup():
    global client
    client = object()
setup()
def judge(case):
    return client
"""


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (LOCAL, "its `R` is a class made inside a function"),
        (COUNTED, "it changes `calls` from call to call"),
        (LAZY, "it changes `client` from call to call"),
        (SET, "its `client` is a object, which cannot be compared"),
    ],
)
def test_what_nobody_can_know_again_is_said(written: Written, source: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        source_digest(written(source).judge)


def test_a_module_whose_file_was_broken_since_is_unreadable(written: Written) -> None:
    module = written(JUDGE.format(1))
    file = Path(str(module.__file__))
    file.write_text(f"{JUDGE.format(1)}\n(\n", encoding="utf-8")
    with pytest.raises(UnreadableError, match="source of its module cannot be read"):
        source_digest(module.judge)
    file.write_text("# nothing\n# of it\n", encoding="utf-8")
    with pytest.raises(UnreadableError, match="its source cannot be read"):
        source_digest(module.judge)


def cell(names: dict[str, Any], source: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a cell as a notebook does: its lines are kept, its module has no file."""
    monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(keepends=True), name))
    exec(compile(source, name, "exec"), names)  # noqa: S102


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('RUBRIC = {"p": "strict"}', "its `RUBRIC` is a dict"),
        ('RUBRIC = ["strict"]', "its `RUBRIC` is a list"),
        ('class RUBRIC:\n    p = "strict"', "its `RUBRIC` is a class whose source cannot be read"),
        ('RUBRIC = ("strict",)', None),
        ('import re\nRUBRIC = re.compile("strict")', None),
        ('from functools import partial\ndef h(case, p): return p\nRUBRIC = partial(h, p="strict")', None),
        ("def RUBRIC(case): return 'strict'", None),
        ("from json import dumps as RUBRIC\nstrict = 1", "same"),
        ("import json as RUBRIC\nstrict = 1", "same"),
    ],
)
def test_in_a_notebook_what_cannot_be_compared_is_said(
    source: str, why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    names = vars(main)
    cell(names, source, "<cell 1>", monkeypatch)
    cell(names, JUDGE.format("RUBRIC"), "<cell 2>", monkeypatch)
    if why not in {None, "same"}:
        with pytest.raises(UnreadableError, match=why):
            source_digest(names["judge"])
        return
    before = source_digest(names["judge"])
    cell(names, source.replace("strict", "lenient"), "<cell 3>", monkeypatch)
    assert (source_digest(names["judge"]) == before) == (why == "same")


HELPER = "def helper(case):\n    return '{}' in case\n"
CALLS = {"from {} import helper": "helper(case)", "import {} as helpers": "helpers.helper(case)"}


@pytest.mark.parametrize("imports", CALLS)
def test_what_a_function_of_another_module_of_the_project_does_counts(written: Written, imports: str) -> None:
    digests = []
    for said in ("good", "good", "bad"):
        helpers = written(HELPER.format(said))
        sys.modules["written_texts"] = helpers
        judge = written(f"{imports.format('written_texts')}\n{JUDGE.format(CALLS[imports])}").judge
        digests.append(source_digest(judge))
    assert [one == digests[0] for one in digests] == [True, True, False]


@pytest.mark.parametrize("place", ["site-packages", "dist-packages"])
def test_of_an_installed_function_the_name_counts(tmp_path: Path, written: Written, place: str) -> None:
    digests = []
    for said in ("good", "bad"):
        path = tmp_path / said / place / "helpers.py"
        path.parent.mkdir(parents=True)
        path.write_text(HELPER.format(said), encoding="utf-8")
        sys.modules["written_texts"] = loaded(path, "written_texts")
        module = written(f"from written_texts import helper\n{JUDGE.format('helper(case)')}")
        digests.append(source_digest(module.judge))
    assert digests[0] == digests[1]


def test_of_an_imported_function_that_cannot_be_known_again_the_name_counts(written: Written) -> None:
    sys.modules["written_texts"] = written(HELPER.format("good") + "helper.__kwdefaults__ = {'case': object()}\n")
    assert source_digest(written(f"from written_texts import helper\n{JUDGE.format('helper(case)')}").judge)
