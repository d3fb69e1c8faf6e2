"""Judges by what they are asked and by who runs them: chains of LangChain, evaluators of LangSmith, harnesses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from scan_bench import found_in, sites_of

from judgeharness_integrations.migration.scanning import ScanReport, scan

CHAIN = """
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
prompt = ChatPromptTemplate.from_messages([("system", {prompt!r}), ("human", "{{question}} {{answer}}")])
chain = prompt | ChatOpenAI() | StrOutputParser()
def judge(question, answer):
    {use}
"""
RETURNED = "return chain.invoke({'question': question, 'answer': answer})"
CLIENT = "from openai import OpenAI\nclient = OpenAI()\n"
ASK = f"{CLIENT}def ask(p):\n    return client.responses.create(input=p).output_text\n"
CORRECT = "def correctness(outputs, reference_outputs):\n    return ask(f'Same? {outputs} {reference_outputs}')\n"
JUDGE = ASK + (
    "def judge(case):\n    text = ask('Judge whether the answer is right: ' + case.output)\n    return 'yes' in text\n"
)
CORE = "from judgeharness_integrations import JudgeHarness\n"


@pytest.fixture
def scanned(tmp_path: Path) -> Callable[..., ScanReport]:
    """Write files, `a/b.py` for `a__b`, and scan them."""

    def run(**files: str) -> ScanReport:
        for name, text in files.items():
            path = tmp_path.joinpath(*name.replace("__", "/").split("/")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
        return scan([tmp_path])

    return run


def places(report: ScanReport) -> list[tuple[str, int]]:
    return [(path.name, site.line) for path, site in report.sites]


@pytest.mark.parametrize(
    "prompt",
    [
        "Compare the two answers. Return A or B.",
        "Does the answer satisfy the request? Answer yes or no.",
        "Does the answer satisfy the question? yes/no",
        "Grade the essay.",
        "Which response is better? Reply with A or B.",
        "Say which of the two replies a customer would prefer: 'A' or 'B'.",
        "Give the answer a mark from 1 to 10.",
        "Is the reply polite? Y or N",
        "Do these summaries say the same? true or false",
    ],
)
@pytest.mark.parametrize("use", [RETURNED, f"{RETURNED} == 'A'"])
def test_chains_are_judges_by_the_few_answers_their_prompts_allow(prompt: str, use: str) -> None:
    (site,) = sites_of(CHAIN.format(prompt=prompt, use=use))
    assert (site.kind, site.line) == ("invoke", 7)


@pytest.mark.parametrize(
    "prompt",
    [
        "Is this email spam? Answer yes or no.",
        "Give the answer to the question in one sentence.",
        "Which of these topics is the text about? The answer must be yes or no.",
        "Translate the answer into French.",
        "Choose a title for the summary.",
    ],
)
@pytest.mark.parametrize("use", [RETURNED, f"{RETURNED} == 'yes'"])
def test_chains_that_classify_or_write_are_none(prompt: str, use: str) -> None:
    assert sites_of(CHAIN.format(prompt=prompt, use=use)) == ()


def test_what_is_returned_is_a_verdict_of_a_chain_with_a_parser_alone() -> None:
    text = CHAIN.format(prompt="Grade the essay.", use=RETURNED)
    assert sites_of(text.replace(" | StrOutputParser()", "")) == ()
    assert sites_of(text.replace("return chain", "print(chain") + ")") == ()
    assert len(sites_of(text.replace("StrOutputParser()", "parser").replace("chain =", "parser = x()\nchain ="))) == 1
    assert sites_of(text.replace("chain.invoke", "run")) == ()


@pytest.mark.parametrize(
    "call",
    [
        "from langsmith import evaluate\nevaluate(app, data='d', evaluators=[correctness, exact])",
        "from langsmith import evaluate as go\ngo(app, 'd', (correctness, exact))",
        "from langsmith import aevaluate\nasync def run():\n    await aevaluate(app, evaluators=[correctness])",
        "from langsmith import Client\nClient().evaluate(app, data='d', evaluators=[exact, correctness])",
        "from langsmith import Client\nc = Client()\nc.aevaluate(app, evaluators=[correctness] + [exact])",
        "from langsmith import evaluate_existing\nevaluate_existing('e', [correctness])",
        "from langsmith import evaluate\nfew = [exact]\nfew.append(correctness)\nevaluate(app, evaluators=few)",
        "from langsmith import evaluate\nfew = []\nfew.extend([correctness])\nevaluate(app, evaluators=[exact, *few])",
        "from langsmith import evaluate\nevaluate(app, **{'data': 'd', 'evaluators': list([correctness])})",
        "from langsmith import evaluate\noptions = dict(evaluators=[correctness])\nevaluate(app, **options)",
        "from langsmith import evaluate\nevaluate(app, evaluators=[f for f in [correctness]])",
        "from langsmith import evaluate, run_evaluator\nevaluate(app, evaluators=[run_evaluator(correctness)])",
        "from langsmith import evaluate\nimport functools as f\nevaluate(app, evaluators=[f.partial(correctness)])",
        "from langsmith import evaluate\ndef run(given):\n    evaluate(app, evaluators=given)\nrun([correctness])",
        "from langsmith import evaluate\nALL = {'c': correctness, 'e': exact}\nevaluate(app, evaluators=ALL.values())",
        "smith.evaluate(app, data='d', evaluators=[correctness])",
        "from judgeharness_langsmith import HarnessRunEvaluator\nx = HarnessRunEvaluator(correctness)",
    ],
)
def test_what_evaluate_runs_is_a_judge_where_it_asks_a_model(call: str) -> None:
    text = f"{ASK}{CORRECT}def exact(outputs, reference_outputs):\n    return outputs == reference_outputs\n{call}\n"
    (site,) = sites_of(text)
    assert (site.kind, site.line, site.harnessed) == ("run_evaluator", 6, "HarnessRun" in call)


@pytest.mark.parametrize(
    "call",
    [
        "import mlflow\nmlflow.evaluate(app, evaluators=[correctness])",
        "from phoenix.evals import evaluate\nevaluate(app, evaluators=[correctness])",
        "from mlflow import Client\nClient().evaluate(app, evaluators=[correctness])",
        "model.evaluate(correctness)",
        "client.evaluate(app, evaluators=[correctness])",
        "evaluate(app, evaluators=[correctness])",
        "from langsmith import evaluate\nevaluate(app, **options)",
        "from langsmith import evaluate\nevaluate(app, evaluators=None)",
        "from langsmith import evaluate\nevaluate(app, **dict(data='d'))",
        "from langsmith import evaluate\nevaluate(correctness, data='d', evaluators=[])",
    ],
)
def test_other_calls_make_no_judge_of_a_function(call: str) -> None:
    assert sites_of(f"{ASK}{CORRECT}{call}\n") == ()


def test_objects_lambdas_and_helpers_are_followed() -> None:
    objects = (
        f"{ASK}from langsmith import evaluate\nclass Same:\n    def evaluate_run(self, run, example=None):\n"
        "        return ask(run)\nevaluate(app, evaluators=[Same()])\n"
    )
    assert [site.line for site in sites_of(objects)] == [8]
    assert [s.line for s in sites_of(f"{ASK}smith.evaluate(app, evaluators=[lambda run, example: ask(run)])\n")] == [5]
    helper = (
        f"{ASK}from concurrent.futures import ThreadPoolExecutor\ndef same(x):\n    return ask('Same? ' + x)\n"
        "def both(outputs):\n    return sum(ThreadPoolExecutor().map(same, outputs))\n"
        "class Suite:\n    def tone(self, outputs):\n        return same(outputs)\n"
        "    def run(self, client):\n        client.evaluate(app, evaluators=[both, self.tone])\n"
    )
    assert [(site.line, site.kind) for site in sites_of(helper)] == [(4, "run_evaluator"), (12, "run_evaluator")]


@pytest.mark.slow
def test_evaluators_of_other_files_are_judged_where_they_are_defined(scanned: Callable[..., ScanReport]) -> None:
    report = scanned(
        llm=ASK,
        metrics__meaning=f"from llm import ask\n{CORRECT}def exact(outputs):\n    pass\ndef other(x):\n    ask(x)\n",
        metrics__tone="from llm import ask\nasync def tone(run, example):\n    return ask(run)\nTONES = [tone]\n",
        metrics__made="from llm import ask\ndef made(words):\n    def one(run, example):\n        return ask(words)\n"
        "    return one\ndef several():\n    return [made('a')]\n",
        go="from langsmith import evaluate\nfrom metrics.meaning import correctness, exact\nfrom metrics import tone\n"
        "from metrics.made import several\nevaluate(app, evaluators=[correctness, exact])\n"
        "evaluate(app, evaluators=tone.TONES)\nevaluate(app, evaluators=several())\n",
    )
    assert sorted(places(report)) == [("made.py", 4), ("meaning.py", 3), ("tone.py", 3)]
    assert {site.kind for _, site in report.sites} == {"run_evaluator"}
    assert report.unresolved == ()
    assert [(path.name, site.line) for path, site in report.imported] == [("go.py", 5)]


def test_an_object_of_another_file_is_a_judge_by_what_its_class_asks(scanned: Callable[..., ScanReport]) -> None:
    report = scanned(
        llm=ASK,
        metrics="from llm import ask\nclass Liked:\n    def __call__(self, run, example):\n        return ask(run)\n"
        "class Short:\n    def __call__(self, run, example):\n        return len(run)\n",
        go="from langsmith import evaluate\nfrom metrics import *\nevaluate(app, evaluators=[Liked(), Short()])\n",
    )
    assert places(report) == [("metrics.py", 4)]
    assert report.unresolved == ()
    assert [(path.name, site.line) for path, site in report.imported] == [("go.py", 3)]


@pytest.mark.parametrize("given", ["chain", "chain.invoke"])
def test_a_chain_that_is_given_itself_is_named(scanned: Callable[..., ScanReport], given: str) -> None:
    chain = CHAIN.format(prompt="Angry or calm?", use="pass")
    report = scanned(go=f"{chain}from langsmith import evaluate\nevaluate(app, evaluators=[{given}])\n")
    [found] = report.unresolved
    assert (found.name, found.why) == (given, "it is a chain, and LangSmith calls functions")
    assert found.todo == "ask it in one"


def test_a_chain_that_an_evaluator_asks_is_a_judge_whatever_its_prompt_says() -> None:
    chain = CHAIN.format(prompt="Angry or calm?", use="pass")
    text = f"{chain}from langsmith import evaluate\ndef calm(outputs):\n    return chain.invoke(outputs) == 'calm'\n"
    assert sites_of(text) == ()
    assert [site.kind for site in sites_of(f"{text}evaluate(app, evaluators=[calm])\n")] == ["run_evaluator"]


def test_what_no_scanned_file_defines_is_named_with_its_line(scanned: Callable[..., ScanReport]) -> None:
    report = scanned(
        broken="def (\n",
        go="from langsmith import evaluate\nfrom elsewhere import brand, brands\nfrom openevals import exact_match\n"
        "def run(given):\n    evaluate(app, evaluators=given)\nevaluate(app, evaluators=[brand, exact_match])\n"
        "evaluate(app, evaluators=brands)\nevaluate(app, evaluators=None)\n",
    )
    assert [(one.line, one.name) for one in report.unresolved] == [(5, "given"), (6, "brand"), (7, "brands")]
    assert report.unresolved[1].why == "elsewhere.brand is in none of the scanned files"
    assert report.judges == 0


@pytest.mark.parametrize(
    "use",
    [
        "def test_it(judgeharness):\n    judgeharness.check(judge, case)",
        "async def test_it(judgeharness):\n    await judgeharness.acheck(judge, case)",
        "def test_it(judgeharness):\n    assert judgeharness(judge, case).verdict",
        "def run(harness: JudgeHarness):\n    return harness.evaluate(judge, case)",
        "JudgeHarness.standard('labels').limited(requests_per_minute=9).evaluate(judge, case)",
    ],
)
def test_no_single_sample_and_no_first_match_where_a_harness_asks(use: str) -> None:
    text = f"{CORE}{JUDGE}{use}\n"
    assert found_in(text, "JH002") == found_in(text, "JH006") == []
    bare = text.replace("judgeharness.check", "judgeharness.show").replace("judgeharness(", "other(")
    bare = bare.replace("acheck", "show").replace(".evaluate", ".show")
    assert found_in(bare, "JH006") == [8]


def test_the_judge_in_an_object_and_its_method_are_harnessed() -> None:
    judge = (
        "class Brief:\n    async def judge(self, probe):\n        return 'yes' in ask('Judge the answer: ' + probe)\n"
    )
    for given in ("Brief()", "Brief().judge"):
        text = f"{CORE}{ASK}{judge}JudgeHarness.single('labels').evaluate({given}, case)\n"
        assert found_in(text, "JH002") == found_in(text, "JH006") == []


@pytest.mark.parametrize(
    "files",
    [
        {"a": f"{CORE}from judges import judge\nJudgeHarness.standard('labels').evaluate(judge, 1)\n"},
        {"a": "from judges import judge\ndef test_it(judgeharness):\n    judgeharness.check(judge, 1)\n"},
        {
            "test_a": "from judges import judge\ndef test_it(harness):\n    harness.evaluate(judge, 1)\n",
            "conftest": f"{CORE}from pytest import *\n@fixture\ndef harness():\n    return JudgeHarness.single('a')\n",
        },
        {
            "a": "from judges import judge\nfrom harnesses import HARNESS\nHARNESS.evaluate(judge, 1)\n",
            "harnesses": f"{CORE}HARNESS = JudgeHarness.single('any')\n",
        },
        {"a": "from judges import judge\nfrom judgeharness_langsmith import HarnessRunEvaluator as H\nx = H(judge)\n"},
    ],
)
def test_a_harness_in_another_file_is_one(scanned: Callable[..., ScanReport], files: dict[str, str]) -> None:
    report = scanned(judges=JUDGE, **files)
    assert report.findings == ()
    assert (report.judges, report.harnessed, report.next_step) == (1, 1, None)


def test_who_asks_it_bare_as_well_has_its_findings(scanned: Callable[..., ScanReport]) -> None:
    harnessed = f"{CORE}from judges import judge\nJudgeHarness.standard('labels').evaluate(judge, 1)\n"
    bare = "from judges import judge\nfrom x import harness\nprint(judge(1), harness.evaluate(judge, 1))\n"
    report = scanned(judges=JUDGE, a=harnessed, b=bare)
    assert [(one.path.name, one.line, one.code) for one in report.findings] == [
        ("judges.py", 6, "JH002"),
        ("judges.py", 7, "JH006"),
    ]
