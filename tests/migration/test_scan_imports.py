"""Judges of other files of the scanned tree: found at their uses, with the place where they are made."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from judgeharness_integrations.cli.app import main
from judgeharness_integrations.migration.rewriting import migrated
from judgeharness_integrations.migration.scanning import ScanReport, scan

LOADED = 'from langchain_classic.evaluation import load_evaluator\njudge = load_evaluator("pairwise_string")\n'
MADE = "from openevals.llm import create_llm_as_judge\ndef make_judge():\n    return create_llm_as_judge(prompt='p')\n"


def tree(root: Path, **files: str) -> ScanReport:
    """Write files (`__` in a name is a folder) and scan them."""
    write(root, **files)
    return scan([root])


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root.joinpath(*name.replace("init", "__init__").split("__d__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


def uses(report: ScanReport, root: Path) -> list[tuple[str, int, str, int]]:
    """(file, line, file of the definition, its line) of every use."""
    return [
        (path.relative_to(root).as_posix(), site.line, home.relative_to(root).as_posix(), line)
        for path, site in report.imported
        for home, line in [site.definition or (path, 0)]
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("imports", "asks"),
    [
        ("from judges import judge", "judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from judges import judge as other", "other.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("import judges", "judges.judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("import judges as j", "j.judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from judges import *", "judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from .judges import judge", "judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from . import judges", "judges.judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from .judges import *", "judge.evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from judges import ALL", "ALL['a'].evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from judges import ask", "ask('a', 'b')"),
        ("from judges import Judge", "Judge().ask('a', 'b')"),
        ("from judges import one", "one.ask('a', 'b')"),
        ("from judges import get", "get().evaluate_string_pairs(prediction='a', prediction_b='b')"),
        ("from judges import judge", "evaluate(evaluators=[judge])"),
        ("from judges import ask", "evaluate(evaluators=[ask])"),
    ],
)
def test_an_imported_judge_is_found_at_its_use(tmp_path: Path, imports: str, asks: str) -> None:
    judges = f"""{LOADED}
ALL = {{"a": judge}}
def get():
    return judge
def ask(a, b):
    return judge.evaluate_string_pairs(prediction=a, prediction_b=b)["value"]
class Judge:
    def ask(self, a, b):
        return judge.evaluate_string_pairs(prediction=a, prediction_b=b)["value"]
one = Judge()
"""
    report = tree(tmp_path, judges=judges, test_it=f"{imports}\ndef test_it():\n    found = {asks}\n")
    assert uses(report, tmp_path) == [("test_it.py", 3, "judges.py", 2)]
    assert report.judges == 1
    assert report.unresolved == ()


def test_a_source_layout_re_exports_relative_imports_and_circles_are_followed(tmp_path: Path) -> None:
    report = tree(
        tmp_path,
        src__d__pkg__d__init="from .judges import judge as pairwise\nfrom pkg.factory import *\n",
        src__d__pkg__d__judges=f"from . import factory\nfrom .circle import n\n{LOADED}",
        src__d__pkg__d__factory=f"from . import judges\n{MADE}",
        src__d__pkg__d__circle="from .other import n\n",
        src__d__pkg__d__other="from .circle import n\n",
        src__d__pkg__d__deep__d__init="",
        src__d__pkg__d__deep__d__use="from ..factory import make_judge as mk\nmine = mk()\nprint(mine(inputs='x'))\n",
        tests__d__test_a="import pkg\ndef test_a():\n    pkg.pairwise.evaluate_string_pairs(prediction='a')\n",
        tests__d__test_b="from pkg.circle import n\nfrom pkg import make_judge\ndef test_b():\n    make_judge()('x')\n",
        tests__d__broken="from pkg import (\n",
    )
    assert sorted(uses(report, tmp_path)) == [
        ("src/pkg/deep/use.py", 3, "src/pkg/factory.py", 4),
        ("tests/test_a.py", 3, "src/pkg/judges.py", 4),
        ("tests/test_b.py", 4, "src/pkg/factory.py", 4),
    ]
    assert report.judges == 2
    assert report.unreadable == ()


def test_a_fixture_of_a_conftest_is_found_in_the_tests_below_it(tmp_path: Path) -> None:
    conftest = "import pytest\nfrom judges import make_judge\n@pytest.fixture\ndef grade():\n    return make_judge()\n"
    report = tree(
        tmp_path,
        judges=MADE,
        tests__d__conftest=conftest,
        tests__d__unit__d__test_a="def test_a(grade):\n    assert grade(inputs='x')['score']\n",
        tests__d__test_b="def test_b(other):\n    grade = other\n    assert grade('x')\n",
    )
    assert [one for one in uses(report, tmp_path) if "test_" in one[0]] == [("tests/unit/test_a.py", 2, "judges.py", 3)]


def test_helpers_and_prompts_of_other_files_make_a_judge(tmp_path: Path) -> None:
    report = tree(
        tmp_path,
        llm="""
            from openai import OpenAI
            def ask(prompt):
                return OpenAI().responses.create(model="m", input=prompt).output_text
            class Model:
                def ask(self, prompt):
                    return OpenAI().responses.create(model="m", input=prompt).output_text
            model = Model()
            """,
        words='TEXT = "Is the answer correct? Say yes or no: "\nOTHER = "Translate this: "\n',
        judging="""
            from llm import ask, model, Model
            from words import OTHER, TEXT
            def one(x):
                return ask(TEXT + x) == "yes"
            def two(x):
                return model.ask(TEXT + x) == "yes"
            def three(x):
                return Model().ask(TEXT + x) == "yes"
            def four(x):
                return ask(OTHER + x) == "yes"
            """,
    )
    assert [(path.name, site.line) for path, site in report.sites] == [("judging.py", n) for n in (5, 7, 9)]


def test_rules_about_uses_look_at_imported_judges(tmp_path: Path) -> None:
    report = tree(
        tmp_path,
        judges=LOADED,
        test_it="""
            from judges import judge
            def test_it():
                result = judge.evaluate_string_pairs(prediction="a", prediction_b="b")
                assert result["value"] != "B"
            """,
    )
    assert [(one.path.name, one.line, one.code) for one in report.findings if one.code in {"JH002", "JH013"}] == [
        ("judges.py", 2, "JH002"),
        ("test_it.py", 5, "JH013"),
    ]


@pytest.mark.parametrize(
    ("use", "harnessed"),
    [
        ("from judgeharness_langchain import harness_evaluator\nmine = harness_evaluator(judge, harness)\n", 1),
        ("def use(x):\n    return [judge.evaluate_string_pairs(prediction=x) for _ in range(5)]\n", 0),
    ],
)
def test_a_judge_that_other_files_harness_or_repeat_is_no_single_sample(
    tmp_path: Path, use: str, harnessed: int
) -> None:
    report = tree(tmp_path, judges=LOADED, use=f"from judges import judge\n{use}")
    assert "JH002" not in report.statistics
    assert report.harnessed == harnessed


def test_nothing_outside_of_the_scanned_paths_is_read(tmp_path: Path) -> None:
    write(tmp_path, judges=LOADED, tests__d__test_it="from judges import judge\njudge.evaluate_string_pairs(x=1)\n")
    report = scan([tmp_path / "tests"])
    assert (report.judges, report.imported) == (0, ())
    assert [(one.line, one.name) for one in report.unresolved] == [(2, "judge.evaluate_string_pairs")]
    report = scan([tmp_path / "tests", tmp_path / "judges.py"])
    assert (report.judges, len(report.imported), report.unresolved) == (1, 1, ())


def test_a_file_that_hides_a_module_of_python_or_of_a_package_is_not_taken_for_it(tmp_path: Path) -> None:
    report = tree(
        tmp_path,
        tools__d__init="",
        tools__d__acme__d__init="",
        tools__d__acme__d__judges=LOADED,
        tools__d__json=LOADED,
        use="import json\nfrom acme.judges import judge\njson.judge.evaluate_string_pairs(1)\nprint(judge('x'))\n",
    )
    assert report.imported == ()
    assert [one.line for one in report.unresolved] == [3, 4]


UNRESOLVED = """
import importlib
from acme.evals import build, make_judge, JudgeConfig, LLMJudge
from autoevals import Factuality, Levenshtein
mod = importlib.import_module("x")
judge = build("x")
def test_it(ev):
    {line}
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("make_judge()(inputs='a')", "make_judge"),
        ("judge(inputs='a')", "judge"),
        ("mod.judge('a')", "mod.judge"),
        ("getattr(mod, 'my_judge')('a')", "getattr(mod, 'my_judge')"),
        ("ev.evaluate_strings(prediction='x')", "ev.evaluate_strings"),
        ("LLMJudge().grade('x')", "LLMJudge"),
        ("Factuality()('x')", "Factuality"),
    ],
)
def test_a_judge_that_cannot_be_resolved_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, name: str
) -> None:
    report = tree(tmp_path, test_it=UNRESOLVED.format(line=line))
    assert [(one.line, one.name) for one in report.unresolved] == [(8, name)]
    assert main(["scan", "--format", "text", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert f"test_it.py:8:5 not resolved: {name} looks like a judge, and" in shown
    assert "; 1 judge called and not resolved" in shown
    assert "0 judges found" not in shown


@pytest.mark.parametrize(
    "line",
    ["JudgeConfig()", "Levenshtein()('x', 'y')", "build('x')", "mod.run()", "getattr(mod, 'x')()", "own_judge()"],
)
def test_other_calls_are_not_named(tmp_path: Path, line: str) -> None:
    report = tree(tmp_path, test_it=UNRESOLVED.format(line=line) + "def own_judge():\n    return 1\n")
    assert report.unresolved == ()


def test_what_was_looked_at_and_asks_no_model_is_resolved(tmp_path: Path) -> None:
    report = tree(
        tmp_path,
        judges='from langchain_classic.evaluation import load_evaluator\nexact = load_evaluator("exact_match")\n',
        test_it="from judges import exact\nexact.evaluate_strings(prediction='a', reference='b')\n",
        conftest="import pytest\n@pytest.fixture\ndef fixed():\n    return object()\n",
        test_b="def test_b(fixed):\n    fixed.evaluate_strings(prediction='a')\n",
    )
    assert (report.unresolved, report.judges) == ((), 0)


def test_the_summary_counts_uses_and_what_is_not_resolved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path,
        judges=LOADED,
        use="from judges import judge\nfrom acme import make_judge\njudge.evaluate_string_pairs(a=1)\nmake_judge()\n",
    )
    main(["scan", "--format", "text", str(tmp_path)])
    shown = capsys.readouterr().out
    home = (tmp_path / "judges.py").as_posix()
    assert f"use.py:3:1 uses judge (pairwise_string) of {home}:2.\n" in shown
    assert "1 judge found, 0 of them harnessed, used from 1 other file; 1 more called and not resolved\n" in shown


def test_migrate_names_the_place_to_change_and_what_is_not_resolved(tmp_path: Path) -> None:
    write(
        tmp_path,
        judges=LOADED,
        use="from judges import judge\nfrom acme import make_judge\njudge.evaluate_string_pairs(a=1)\nmake_judge()\n",
    )
    found = {one.path.name: one.rewrite for one in migrated([tmp_path], "single").files}
    assert found["judges.py"].changed
    assert not found["use.py"].changed
    home = tmp_path / "judges.py"
    assert found["use.py"].line_notes == (
        f"line 3: judge (pairwise_string) is used here; the place to change is {home}:2.",
    )
    assert [(one.line, one.kind) for one in found["use.py"].by_hand] == [(4, "make_judge")]
