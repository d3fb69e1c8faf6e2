"""JH013: tests that pass, and means that come out, where a judge decided nothing; suites as people write them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from scan_bench import expected_in, found_in
from typer.testing import CliRunner

from judgeharness_integrations.cli.app import app
from judgeharness_integrations.migration.modules import Source
from judgeharness_integrations.migration.rewriting import diff_of, rewritten

HEAD = """
import asyncio
import statistics
import sys
import unittest
import numpy as np
import pandas as pd
import pytest
from statistics import fmean
from langchain_classic.evaluation import load_evaluator
from openevals.llm import create_llm_as_judge, create_async_llm_as_judge
from judgeharness_langchain import harness_evaluator, load_evaluator as ours
from judgeharness_openevals import create_harnessed_pairwise_judge, harness_judge
from judgeharness_integrations import JudgeHarness
from mine import CASES, PAIR, llm
pairwise = load_evaluator("pairwise_string", llm=llm)
measured = harness_evaluator(pairwise, JudgeHarness.standard("pairwise"))
scoring = ours("score_string", llm=llm)
judge = create_llm_as_judge(prompt="Right? {outputs}")
ajudge = harness_judge(create_async_llm_as_judge(prompt="Right? {outputs}"))
prefer = create_harnessed_pairwise_judge(model="openai:gpt-4o")
"""

SILENT = {
    "not the loser": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["value"] != "B"  # expect: JH013
""",
    "in one expression": """
def test():
    assert pairwise.evaluate_string_pairs(**PAIR)["value"] != "B", "the old answer won"  # expect: JH013
""",
    "not among": """
def test():
    verdict = measured.evaluate_string_pairs(**PAIR).get("value")
    assert verdict not in ("B", "C")  # expect: JH013
""",
    "a set of bad verdicts": """
BAD = {"B"}
def test():
    verdict = measured.evaluate_string_pairs(**PAIR)["value"]
    assert verdict not in BAD  # expect: JH013
""",
    "falsy": """
def test():
    toxic = judge(inputs="q", outputs="a")
    assert not toxic["score"]  # expect: JH013
""",
    "is not": """
def test():
    assert judge(outputs="a")["score"] is not False  # expect: JH013
""",
    "unlike with a variable": """
@pytest.mark.parametrize("worse", ["A", "B"])
def test(worse):
    assert measured.evaluate_string_pairs(**PAIR)["value"] != worse  # expect: JH013
""",
    "unittest": """
class Suite(unittest.TestCase):
    def test_it(self):
        answer = measured.evaluate_string_pairs(**PAIR)
        self.assertNotEqual(answer["value"], "B")  # expect: JH013
        self.assertNotIn(answer["value"], ["B", "C"])  # expect: JH013
        self.assertFalse(judge(outputs="a")["score"])  # expect: JH013
""",
    "raised by hand": """
def check():
    answer = measured.evaluate_string_pairs(**PAIR)
    if answer["value"] == "B":  # expect: JH013
        raise AssertionError("worse")
""",
    "failed or left": """
def main():
    graded = judge(outputs="a")
    if graded["score"] is False:  # expect: JH013
        sys.exit(1)
    if prefer(outputs=["a", "b"])["score"] == 0.0:  # expect: JH013
        pytest.fail("the second is preferred")
""",
    "async": """
async def test():
    graded = await ajudge(outputs="a")
    assert graded["score"] is not False  # expect: JH013

def test_sync():
    assert asyncio.run(ajudge(outputs="a"))["score"] != 0  # expect: JH013
""",
    "in a loop": """
def test():
    for case in CASES:
        answer = measured.evaluate_string_pairs(**case)
        assert answer["value"] != "B", case  # expect: JH013
""",
    "all and any": """
def test():
    answers = [measured.evaluate_string_pairs(**case) for case in CASES]
    assert all(answer["value"] != "B" for answer in answers)  # expect: JH013
    assert not any(answer["value"] == "B" for answer in answers)  # expect: JH013
""",
    "none of a list": """
def test():
    verdicts = [measured.evaluate_string_pairs(**case)["value"] for case in CASES]
    assert "B" not in verdicts  # expect: JH013
    assert verdicts.count("B") == 0  # expect: JH013
""",
    "few enough losses": """
def test():
    verdicts = []
    for case in CASES:
        verdicts.append(measured.evaluate_string_pairs(**case)["value"])
    losses = sum(verdict == "B" for verdict in verdicts)
    assert losses <= 2  # expect: JH013
""",
    "a helper": """
def verdict(first, second):
    return measured.evaluate_string_pairs(prediction=first, prediction_b=second)["value"]

def test():
    assert verdict("new", "old") != "B"  # expect: JH013
""",
    "a fixture": """
@pytest.fixture
def answer():
    return measured.evaluate_string_pairs(**PAIR)

def test(answer):
    assert answer["value"] != "B"  # expect: JH013
""",
    "the same in both orders": """
def test():
    one = pairwise.evaluate_string_pairs(prediction="a", prediction_b="b")
    other = pairwise.evaluate_string_pairs(prediction="b", prediction_b="a")
    assert one["value"] == other["value"]  # expect: JH013
""",
    "the verdict of the measurement": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["harness"]["verdict"] != "B"  # expect: JH013
    assert judge(outputs="a")["metadata"]["verdict"] != "FAIL"  # expect: JH013
""",
    "only where there is one": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert not (answer["value"] and answer["value"] == "B")  # expect: JH013
""",
    "a mean with a default": """
def test():
    graded = [judge(outputs=case) for case in CASES]
    assert sum(one["score"] or 0 for one in graded) / len(graded) > 0.5  # expect: JH013
""",
    "a mean of what is there": """
def test():
    graded = [judge(outputs=case) for case in CASES]
    scores = [one["score"] for one in graded if one["score"]]
    assert statistics.mean(scores) > 0.5  # expect: JH013
""",
    "means of every kind": """
def rates():
    scores = []
    for case in CASES:
        scores.append(scoring.evaluate_strings(**case)["score"])
    print(np.mean(scores))  # expect: JH013
    print(pd.Series(scores).mean())  # expect: JH013
    print(np.array(scores).mean())  # expect: JH013
    return fmean(float(score) for score in scores)  # expect: JH013
""",
    "a running sum": """
def total():
    found = 0
    for case in CASES:
        found += scoring.evaluate_strings(**case)["score"]  # expect: JH013
    return found
""",
    "a method's attribute": """
class TestNew:
    def setup_method(self):
        self.answer = measured.evaluate_string_pairs(**PAIR)

    def test_it(self):
        assert self.answer["value"] != "B"  # expect: JH013
""",
    "a walrus": """
def test():
    assert (answer := measured.evaluate_string_pairs(**PAIR))["value"] != "B", answer  # expect: JH013
""",
    "a dict of answers": """
def test():
    answers = {name: measured.evaluate_string_pairs(**case) for name, case in CASES.items()}
    for name, answer in answers.items():
        assert answer["value"] != "B", name  # expect: JH013
""",
}

LOUD = {
    "what must hold": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["value"] == "A"
    assert answer["value"] in ("A", "TIE")
    assert judge(outputs="a")["score"]
    assert judge(outputs="a")["score"] is True
""",
    "compared by size": """
def test():
    assert scoring.evaluate_strings(**PAIR)["score"] >= 7
    assert not scoring.evaluate_strings(**PAIR)["score"] < 7
""",
    "the status first": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["harness"]["status"] == "decided"
    assert answer["value"] != "B"
""",
    "the status of openevals": """
def test():
    graded = judge(outputs="a")
    if graded["metadata"]["status"] != "decided":
        pytest.fail("nothing was decided")
    assert graded["score"] is not False
""",
    "None is asked for": """
def test():
    verdict = measured.evaluate_string_pairs(**PAIR)["value"]
    assert verdict is not None
    assert verdict != "B"

def test_tie():
    assert pairwise.evaluate_string_pairs(**PAIR)["value"] is None
    assert measured.evaluate_string_pairs(**PAIR)["value"] in (None, "A")
""",
    "skipped": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    if answer["value"] is None:
        pytest.skip("a tie")
    assert answer["value"] != "B"
""",
    "within a condition": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    if answer["value"] is not None:
        assert answer["value"] != "B"
""",
    "two tests of one value": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["value"] != "B" and answer["score"] > 0.5
    assert not answer["value"] == "B"
    assert answer["score"] >= 0.5
""",
    "a text of it": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["value"].lower() != "b"
    assert "wrong" not in answer["reasoning"]
    assert "B" not in answer["value"]
""",
    "shares that fail": """
def test():
    verdicts = [measured.evaluate_string_pairs(**case)["value"] for case in CASES]
    assert sum(verdict == "A" for verdict in verdicts) / len(verdicts) >= 0.8
    assert verdicts.count("A") > 3
    assert all(verdict == "A" for verdict in verdicts)
""",
    "cases without a verdict are counted": """
def rate():
    graded = [judge(outputs=case) for case in CASES]
    decided = [one["score"] for one in graded if one["score"] is not None]
    print(len(graded) - len(decided), "without a verdict")
    return sum(decided) / len(decided)

def other():
    graded = [judge(outputs=case) for case in CASES]
    assert all(one["metadata"]["status"] == "decided" for one in graded)
    return sum(one["score"] for one in graded) / len(graded)
""",
    "other people's values": """
def test():
    row = {"value": "A", "score": 1}
    assert row["value"] != "B"
    assert not row["score"]
    total = sum(case["score"] for case in CASES)
    assert len(CASES) != 0
    return total
""",
    "no judge of a model": """
exact = load_evaluator("exact_match")

def test():
    assert exact.evaluate_strings(**PAIR)["score"] != 0
""",
    "the harness's own result": """
def test():
    result = JudgeHarness.standard("labels").evaluate(lambda case: "PASS", PAIR)
    assert result.status == "decided"
    assert result.verdict != "FAIL"
""",
    "a return is no test": """
def better(case):
    answer = measured.evaluate_string_pairs(**case)
    if answer["value"] == "B":
        return False
    return True
""",
    "what was asked, not what was said": """
def test():
    answer = measured.evaluate_string_pairs(**PAIR)
    assert answer["harness"]["usage"]["calls"] != 0
    assert len(answer) != 0
    assert "score" in answer
""",
}


# written after the rule, and kept as they were; what it misses is marked
HELD_OUT = {
    "a class around it": """
class Judge:
    def __init__(self):
        self.chain = harness_evaluator(load_evaluator("pairwise_string", llm=llm))
    def winner(self, a, b):
        out = self.chain.evaluate_string_pairs(prediction=a, prediction_b=b, input="q")
        return out["value"]
def test_x():
    j = Judge()
    assert j.winner("a", "b") != "B"  # expect: JH013
""",
    "a helper's scores": """
def get_score(x):
    res = judge(inputs=x, outputs=x)
    return res["score"]
def test_scores():
    scores = [get_score(x) for x in CASES]
    avg = sum(s for s in scores if s) / len(scores)  # expect: JH013
    assert avg > 0.7
""",
    "gathered": """
@pytest.mark.asyncio
async def test_many():
    results = await asyncio.gather(*[ajudge(outputs=c) for c in CASES])
    bad = [r for r in results if r["score"] is False]
    assert not bad  # expect: JH013
""",
    "a list of losses": """
def test_bad_list():
    bad = []
    for c in CASES:
        r = measured.evaluate_string_pairs(**c)
        if r["value"] == "B":
            bad.append(c)
    assert not bad, bad  # expect: JH013
""",
    "the length of a list": """
def test_len():
    losses = [c for c in CASES if measured.evaluate_string_pairs(**c)["value"] == "B"]
    assert len(losses) == 0  # expect: JH013
""",
    "a counter": """
def test_count():
    losses = 0
    for c in CASES:
        if measured.evaluate_string_pairs(**c)["value"] == "B":
            losses += 1
    assert losses < 3  # expect: JH013
""",
    "a counter of wins": """
def test_wins():
    wins = 0
    for c in CASES:
        if measured.evaluate_string_pairs(**c)["value"] == "A":
            wins += 1
    assert wins > 3
""",
    "a lenient default": """
def test_score():
    r = scoring.evaluate_strings(prediction="x", input="y")
    score = r.get("score") or 10
    assert score >= 5  # expect: JH013
""",
    "a strict default": """
def test_default():
    r = scoring.evaluate_strings(prediction="x", input="y")
    assert (r["score"] or 0) >= 5
""",
    "unittest with a fixture": """
class T(unittest.TestCase):
    def setUp(self):
        self.r = judge(outputs="a")
    def test_a(self):
        self.assertTrue(self.r["score"])
    def test_b(self):
        self.assertIsNotNone(self.r["score"])
        self.assertNotEqual(self.r["score"], 0)
""",
    "a data frame": """
def test_df():
    df = pd.DataFrame([judge(outputs=c) for c in CASES])
    assert df["score"].mean() > 0.5  # missed: JH013
""",
    "mapped by a lambda": """
def test_mapped():
    out = list(map(lambda c: judge(outputs=c)["score"], CASES))
    assert np.mean(out) > 0.5  # missed: JH013
""",
    "a tie is welcome": """
def test_ok():
    v = pairwise.evaluate_string_pairs(**PAIR)["value"]
    assert v == "A" or v is None
""",
    "other keys": """
def test_reason():
    out = pairwise.evaluate_string_pairs(**PAIR)
    assert out["reasoning"] != ""
    assert "value" in out
    assert out["score"] in (0, 0.5, 1)
""",
    "a gate": """
def gate():
    if not all(judge(outputs=c)["score"] for c in CASES):
        raise SystemExit(1)
def loose():
    if any(judge(outputs=c)["score"] is False for c in CASES):  # expect: JH013
        raise SystemExit(1)
""",
    "through a lambda": """
def test_tuple():
    value, score = (lambda r: (r["value"], r["score"]))(measured.evaluate_string_pairs(**PAIR))
    assert value != "B"  # missed: JH013
""",
    "a match statement": """
def test_match():
    match measured.evaluate_string_pairs(**PAIR)["value"]:
        case "B":
            pytest.fail("lost")  # missed: JH013
""",
    "continue": """
def test_continue():
    for c in CASES:
        r = measured.evaluate_string_pairs(**c)
        if not r["value"]:
            continue
        assert r["value"] != "B"
""",
    "the other case": """
def test_pair():
    r1 = measured.evaluate_string_pairs(prediction="a", prediction_b="b")
    r2 = measured.evaluate_string_pairs(prediction="b", prediction_b="a")
    assert r1["value"] == "A"
    assert r2["value"] != "A"  # expect: JH013
""",
    "a share": """
def test_ratio():
    votes = [prefer(outputs=[a, b])["score"] for a, b in CASES]
    assert votes.count(0.0) / len(votes) < 0.2  # expect: JH013
""",
}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", [*SILENT, *LOUD, *HELD_OUT])
def test_a_snippet(name: str) -> None:
    text = HEAD.strip() + {**SILENT, **LOUD, **HELD_OUT}[name]
    lines = text.split("\n")
    expected = [line for line, _ in expected_in(text).elements() if "# missed" not in lines[line - 1]]
    assert found_in(text, "JH013") == expected
    assert name in HELD_OUT or (name in SILENT) == bool(expected)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("test", "passes"),
    [
        ('(a["value"] or "B") != "B"', False),
        ('(a["value"] or "A") != "B"', True),
        ('(a["value"] if a["value"] else "A") != "B"', True),
        ('other or a["value"] != "B"', True),
        ('other and a["value"] != "B"', False),
        ('other and a["value"] == "B"', False),
        ('other or a["value"].lower()', False),
        ('"A" != a["value"] != "B"', True),
        ('a["value"] != "B" == other', False),
        ('str(a["value"]) != "B"', True),
        ('bool(a["value"]) is False', True),
        ('not isinstance(a["value"], str)', True),
        ('float(a["score"]) != 0', False),
        ('a["score"] + 1 != 0', False),
        ('len(a["value"]) != 0', False),
        ('a["value"][0] != "B"', False),
        ('"B" not in (a["value"], other)', False),
        ('"B" not in (a["value"], "A")', True),
        ('a["value"] not in other', True),
        ('a["value"] not in "BC"', False),
        ('other not in a["value"]', False),
        ('a["value"] != a["score"]', False),
        ('a["value"] in other', False),
        ('a["harness"]["status"] != "not_graded"', False),
        ('all([a["value"] != "B"])', True),
        ('sum([a["value"] == "B"]) == 0', True),
        ('sum([a["value"] != "B"]) == 0', False),
        ('sum(one for one in [a["score"]]) == 0', False),
        ('len([1 for _ in other if a["value"] == "B"]) == 0', True),
        ('list([a["value"]]).count("B") == 0', True),
        ('[a["value"]].count(other) == 0', True),
        ('a["value"] == "B" if other else True', False),
        ("other != 1", False),
        ('a["value"] is None or a["value"] != "B"', False),
    ],
)
def test_what_a_test_comes_to_without_a_verdict(test: str, passes: bool) -> None:  # noqa: FBT001 - a table
    text = f"{HEAD.strip()}\ndef test(other):\n    a = measured.evaluate_string_pairs(**PAIR)\n    assert {test}\n"
    found = [line for line in found_in(text, "JH013") if text.split("\n")[line - 1].strip().startswith("assert")]
    assert bool(found) is (passes or "sum(one" in test)  # such a sum ends with a TypeError, and is found as one


@pytest.mark.slow
def test_the_code_stands_in_every_format(tmp_path: Path) -> None:
    suite = tmp_path / "test_suite.py"
    suite.write_text(
        HEAD.strip() + SILENT["not the loser"] + SILENT["falsy"].replace("# expect: JH013", "# noqa: JH013")
    )
    line = next(n for n, text in enumerate(suite.read_text().split("\n"), 1) if "expect" in text)
    runner = CliRunner()
    text = runner.invoke(app, ["scan", "--select", "JH013", str(suite)])
    assert text.exit_code == 1
    assert f"test_suite.py:{line}:" in text.output.replace("\n", "")
    assert "JH013" in text.output
    document = json.loads(runner.invoke(app, ["scan", "--select", "JH013", "--format", "json", str(suite)]).output)
    assert [(one["code"], one["line"]) for one in document["findings"]] == [("JH013", line)]
    assert document["suppressed"] == 1
    sarif = json.loads(runner.invoke(app, ["scan", "--select", "JH013", "--format", "sarif", str(suite)]).output)
    (result,) = sarif["runs"][0]["results"]
    assert (result["ruleId"], sarif["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]) == ("JH013",) * 2
    assert "None" in runner.invoke(app, ["scan", "--explain", "JH013"]).output


@pytest.mark.slow
def test_a_migration_notes_the_line_above_the_diff_and_leaves_the_test_alone(tmp_path: Path) -> None:
    suite = tmp_path / "test_suite.py"
    suite.write_text(
        HEAD.strip() + SILENT["in one expression"] + SILENT["falsy"].replace("# expect", "# noqa: JH013 #")
    )
    line = next(n for n, text in enumerate(suite.read_text().split("\n"), 1) if "expect" in text)
    found = rewritten(Source.read(suite))
    diff = diff_of(found, suite)
    note = f"# {suite.as_posix().lstrip('/')}: line {line}: JH013 this passes where pairwise (pairwise_string) gives no"
    assert diff.startswith(note)
    assert diff.split("\n")[1].startswith("--- a/")
    assert diff.count("JH013 this") == 1  # what a comment hides is not noted
    kept = [text for text in suite.read_text().split("\n") if "assert" in text]
    assert [text for text in found.after.split("\n") if "assert" in text] == kept
    runner = CliRunner()
    first = runner.invoke(app, ["migrate", "--write", str(suite)]).output
    assert note in first.replace("\r", "")
    document = json.loads(runner.invoke(app, ["migrate", "--json", str(suite)]).output)
    (file,) = document["files"]
    assert (file["changed"], file["diff"]) == (False, "")
    assert any(text.startswith("line ") and " JH013 this passes" in text for text in file["notes"])
    again = runner.invoke(app, ["migrate", str(suite)]).output
    assert "note: " in again
    assert "JH013 this passes" in again


def test_the_diff_is_still_a_patch(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    suite = tmp_path / "test_suite.py"
    suite.write_text(HEAD.strip() + SILENT["in one expression"])
    found = rewritten(Source.read(suite))
    patch = tmp_path / "migration.diff"
    patch.write_text(diff_of(found, Path("test_suite.py")))
    assert patch.read_text().startswith("# test_suite.py: line ")
    subprocess.run([git, "apply", patch.name], cwd=tmp_path, check=True)  # noqa: S603
    assert suite.read_text() == found.after
