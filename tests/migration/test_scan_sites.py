"""Judges that frameworks make, and how they are used."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_bench import config_of, sites_of

from judgeharness_integrations.migration.discovery import find_sites
from judgeharness_integrations.migration.modules import Source
from judgeharness_integrations.migration.syntax import JudgeSite


def only(text: str) -> JudgeSite:
    (site,) = sites_of(text)
    return site


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from langchain_classic.evaluation import load_evaluator", "load_evaluator('pairwise_string', llm=llm)"),
        ("from langchain.evaluation import load_evaluator as le", "le('pairwise_string', llm=llm)"),
        ("import langchain_classic.evaluation as ev", "ev.load_evaluator('pairwise_string')"),
        ("from langchain_classic import evaluation", "evaluation.load_evaluator(evaluator='pairwise_string')"),
        ("import langchain.evaluation", "langchain.evaluation.load_evaluator('pairwise_string')"),
        ("from langchain_classic.evaluation import *", "load_evaluator(EvaluatorType.PAIRWISE_STRING)"),
        (
            "from langchain.evaluation.schema import EvaluatorType\nfrom langchain.evaluation import load_evaluator",
            "load_evaluator(EvaluatorType.PAIRWISE_STRING)",
        ),
        (
            "import langchain.evaluation as ev\nmake = ev.load_evaluator\nKIND = ev.EvaluatorType.PAIRWISE_STRING",
            "make(KIND)",
        ),
        (
            "from langchain_classic.evaluation import PairwiseStringEvalChain",
            "PairwiseStringEvalChain.from_llm(llm=llm)",
        ),
        (
            "from langchain.evaluation import PairwiseStringEvalChain\nCHAINS = {'one': PairwiseStringEvalChain}",
            "CHAINS['one'].from_llm(llm)",
        ),
    ],
)
def test_langchain_evaluators_are_found_behind_every_kind_of_import(imports: str, call: str) -> None:
    site = only(f"{imports}\njudge = {call}\n")
    assert (site.framework, site.kind, site.shape, site.name) == ("langchain", "pairwise_string", "pairwise", "judge")
    assert (site.harnessed, site.deterministic) == (False, False)
    assert (site.samples, site.is_async) == (1, None)


def test_a_site_says_where_it_stands() -> None:
    site = only(
        """
        from openevals import create_llm_as_judge
        judge = create_llm_as_judge(
            prompt="p",
        )
        """
    )
    assert (site.line, site.column, site.end_line, site.end_column) == (2, 9, 4, 2)
    assert site.node is not None
    assert site.evidence == "llm_as_judge asks a model"


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ("", "labels"),
        ("continuous=True", "scores"),
        ("continuous=False", "labels"),
        ("continuous=flag", "any"),
        ("choices=[0, 1]", "scores"),
        ("choices=None", "labels"),
        ("output_schema=Mine", "any"),
        ("**options", "any"),
    ],
)
def test_the_shape_of_an_openevals_judge_follows_its_arguments(arguments: str, shape: str) -> None:
    text = f"from openevals.llm import create_llm_as_judge as make\nj = make({arguments})\n"
    assert only(text).shape == shape


@pytest.mark.parametrize(
    ("name", "kind", "deterministic", "is_async"),
    [
        ("create_async_llm_as_judge", "llm_as_judge", False, True),
        ("create_trajectory_llm_as_judge", "trajectory_llm_as_judge", False, False),
        ("create_async_json_match_evaluator", "json_match", True, True),
        ("create_async_trajectory_match_evaluator", "trajectory_match", True, True),
    ],
)
def test_relatives_of_the_openevals_judge(name: str, kind: str, deterministic: bool, is_async: bool) -> None:  # noqa: FBT001
    site = only(f"import openevals\nj = openevals.{name}()\n")
    assert (site.kind, site.deterministic, site.is_async) == (kind, deterministic, is_async)


def test_json_match_with_a_model_asks_it() -> None:
    site = only("from openevals.json import create_json_match_evaluator as m\nj = m(rubric={}, model='x')\n")
    assert not site.deterministic


def test_each_evaluator_that_one_call_loads_is_a_site() -> None:
    sites = sites_of(
        """
        from langchain_classic.evaluation import load_evaluators, EvaluatorType
        judges = load_evaluators(["qa", EvaluatorType.SCORE_STRING, "exact_match"], llm=llm)
        """
    )
    assert [(site.kind, site.deterministic) for site in sites] == [
        ("qa", False),
        ("score_string", False),
        ("exact_match", True),
    ]


@pytest.mark.parametrize(
    ("call", "deterministic"),
    [
        ("load_evaluator(kind)", True),
        ("load_evaluator(kind, llm=llm)", False),
        ("load_evaluator(kind, **{'llm': llm})", False),
        ("load_evaluator(kind, **options)", False),
        ("load_evaluator()", True),
    ],
)
def test_an_evaluator_whose_kind_is_not_seen_is_a_judge_if_it_gets_a_model(call: str, deterministic: bool) -> None:  # noqa: FBT001
    site = only(
        f"""
        from langchain_classic.evaluation import load_evaluator
        def make(kind, llm):
            options = {{"llm": llm, "criteria": "x"}}
            return {call}
        """
    )
    assert (site.kind, site.deterministic) == ("unknown", deterministic)


def test_a_table_of_chains_is_a_judge_made_from_a_model_and_nothing_else() -> None:
    text = """
        from langchain_classic.evaluation import QAEvalChain, ScoreStringEvalChain, ExactMatchStringEvaluator
        CLASSES = {"qa": QAEvalChain, "score": ScoreStringEvalChain, "exact": ExactMatchStringEvaluator}
        def make(kind, llm):
            cls = CLASSES[kind]
            if llm:
                return cls.from_llm(llm)
            return cls()
        """
    assert [(site.kind, site.deterministic) for site in sites_of(text)] == [("unknown", False), ("unknown", True)]


@pytest.mark.parametrize(
    ("evaluators", "count"),
    [
        ("['qa']", 1),
        ("[RunEvalConfig.Criteria('depth')]", 1),
        ("['exact_match']", 0),
        ("[]", 0),
    ],
)
def test_run_eval_config_is_a_site_if_one_of_its_evaluators_asks_a_model(evaluators: str, count: int) -> None:
    text = f"from langchain.smith import RunEvalConfig\nc = RunEvalConfig(evaluators={evaluators})\n"
    assert [site.kind for site in sites_of(text)] == ["run_eval_config"] * count


def test_langchain_string_evaluators_know_what_they_run() -> None:
    sites = sites_of(
        """
        from langsmith.evaluation import LangChainStringEvaluator as E
        found = [E("score_string"), E("exact_match"), E(mine)]
        """
    )
    assert [(site.kind, site.shape, site.deterministic) for site in sites] == [
        ("LangChainStringEvaluator", "scores", False),
        ("LangChainStringEvaluator", "any", True),
        ("LangChainStringEvaluator", "any", False),
    ]


HARNESSED = """
from langchain_classic.evaluation import load_evaluator, load_evaluators
from openevals import create_llm_as_judge
from judgeharness_integrations import JudgeHarness
import judgeharness_integrations as ji
from judgeharness_langchain import harness_evaluator
from judgeharness_openevals import harness_judge as wrap
from judgeharness_langsmith import HarnessRunEvaluator
h = JudgeHarness.standard("labels")
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "e = harness_evaluator(load_evaluator('qa', llm=m), h)",
        "raw = load_evaluator('qa', llm=m)\ne = harness_evaluator(raw, h)",
        "e = wrap(create_llm_as_judge(prompt='p'), h)",
        "es = [harness_evaluator(one, h) for one in load_evaluators(['qa'], llm=m)]",
        "from judgeharness_openevals import harness_judge as wrap_\ne = wrap_(create_llm_as_judge(prompt='p'), h)",
        "e = HarnessRunEvaluator(create_llm_as_judge(prompt='p'), h)",
        "e = create_llm_as_judge(prompt='p')\ne = wrap(e, h)",
        "j = create_llm_as_judge(prompt='p')\nh.evaluate(j, case)",
        "j = create_llm_as_judge(prompt='p')\nji.JudgeHarness(repetitions=3).evaluate_many(judge=j, cases=[])",
        "def make():\n    return create_llm_as_judge(prompt='p')\ne = wrap(make(), h)",
        "es = [wrap(one, h) for one in [create_llm_as_judge(prompt='p')]]",
        "j = create_llm_as_judge(prompt='p')\nh.evaluate(lambda case: j(outputs=case.output), case)",
        "class T:\n    j = create_llm_as_judge(prompt='p')\n    def test(self):\n        return wrap(self.j, h)",
    ],
)
def test_a_judge_that_a_harness_asks_is_harnessed(use: str) -> None:
    assert only(HARNESSED.format(use=use)).harnessed


@pytest.mark.parametrize(
    "use",
    [
        "j = create_llm_as_judge(prompt='p')\nother.evaluate(j, case)",
        "j = create_llm_as_judge(prompt='p')\nwrap(another, h)",
        "j = create_llm_as_judge(prompt='p')\nh.report(j)",
    ],
)
def test_a_judge_beside_a_harness_is_not_harnessed(use: str) -> None:
    assert not only(HARNESSED.format(use=use)).harnessed


@pytest.mark.parametrize(
    ("call", "framework", "deterministic"),
    [
        ("judgeharness_langchain.PairwiseJudge(llm)", "langchain", False),
        ("judgeharness_langchain.load_evaluator('qa', llm=m)", "langchain", False),
        ("judgeharness_langchain.load_evaluator('exact_match')", "langchain", True),
        ("judgeharness_openevals.create_async_harnessed_pairwise_judge(model='m')", "openevals", False),
    ],
)
def test_judges_of_this_package_are_harnessed_as_they_are_made(call: str, framework: str, deterministic: bool) -> None:  # noqa: FBT001
    site = only(f"import judgeharness_langchain, judgeharness_openevals\nj = {call}\n")
    assert (site.framework, site.harnessed, site.deterministic) == (framework, True, deterministic)


LOOPED = """
from openevals import create_llm_as_judge
from tqdm import tqdm
N = 4
judge = create_llm_as_judge(prompt="p")
def ask(case, n, app, build_prompt):
    votes = []
{body}
"""


@pytest.mark.parametrize(
    ("body", "samples"),
    [
        ("return judge(outputs=case)", 1),
        ("for _ in range(5):\n    votes.append(judge(outputs=case))", 5),
        ("for i in range(2, N):\n    votes.append(judge(outputs=case))", 2),
        ("for i in range(n):\n    votes.append(judge(outputs=case))", None),
        ("for seed in [1, 2, 3]:\n    votes.append(judge(outputs=case, seed=seed))", 3),
        ("for _ in tqdm(range(6)):\n    votes.append(judge(outputs=case))", 6),
        ("for i in range(9):\n    votes.append(judge(outputs=case[i]))", 1),
        ("for i in range(9):\n    one = case[i]\n    votes.append(judge(outputs=one))", 1),
        ("for one in case:\n    votes.append(judge(outputs=one))", 1),
        ("for _ in range(3):\n    try:\n        return judge(outputs=case)\n    except OSError:\n        pass", 1),
        ("for _ in range(3):\n    votes.append(judge(outputs=app(case)))", 1),
        ("for _ in range(3):\n    votes.append(judge(outputs=build_prompt(case)))", 3),
        ("return [judge(outputs=case) for _ in range(7)]", 7),
        ("return [[judge(outputs=one) for _ in range(7)] for one in case]", 7),
        ("return judge(outputs=case), judge(outputs=case), judge(outputs=case)", 3),
        ("return judge(inputs=case, outputs=n), judge(inputs=n, outputs=case)", 2),
        ("a = judge(outputs=case)\ncase = app(case)\nreturn a, judge(outputs=case)", 1),
        ("return judge.invoke(outputs=case) if n else judge.invoke(outputs=case)", 2),
        ("while True:\n    votes.append(judge(outputs=case))", 1),
    ],
)
def test_samples_are_counted_where_the_code_shows_them(body: str, samples: int | None) -> None:
    text = LOOPED.format(body="\n".join(f"    {line}" for line in body.split("\n")))
    assert only(text).samples == samples


def test_repeats_of_a_helper_count_for_the_judge_in_it() -> None:
    text = """
        from openevals import create_llm_as_judge
        judge = create_llm_as_judge(prompt="p")
        def once(case):
            return judge(outputs=case)["score"]
        def votes(case):
            return [once(case) for _ in range(3)]
        def table(cases):
            return {case: votes(case) for case in cases}
        """
    assert only(text).samples == 3


@pytest.mark.parametrize(
    ("ask", "is_async"),
    [
        ("judge.evaluate_strings(prediction=x)", False),
        ("await judge.aevaluate_strings(prediction=x)", True),
        ("asyncio.gather(*[judge.aevaluate_strings(prediction=y) for y in x])", True),
    ],
)
def test_await_is_seen_where_a_judge_is_asked(ask: str, is_async: bool) -> None:  # noqa: FBT001
    text = f"""
        import asyncio
        from langchain_classic.evaluation import load_evaluator
        judge = load_evaluator("qa", llm=llm)
        async def f(x):
            return {ask}
        """
    assert only(text).is_async is is_async


def test_a_judge_is_followed_through_fixtures_parameters_dicts_and_attributes() -> None:
    text = """
        import pytest
        from openevals import create_llm_as_judge
        @pytest.fixture()
        def judge():
            yield create_llm_as_judge(prompt="a")
        def test_it(judge):
            kept = [judge(outputs="x") for _ in range(2)]
        TABLE = {"b": create_llm_as_judge(prompt="b"), "c": create_llm_as_judge(prompt="c")}
        def vote(mine):
            return [mine(outputs="x") for _ in range(4)]
        vote(TABLE["b"])
        class Suite:
            judge: object = create_llm_as_judge(prompt="d")
            def run(self):
                return [self.judge(outputs="x") for _ in range(6)]
        """
    assert [site.samples for site in sites_of(text)] == [2, 4, 1, 6]


def test_circles_end() -> None:
    text = """
        from openevals import create_llm_as_judge
        a = b
        b = a
        xs = zip(xs, enumerate(xs))
        for x in xs:
            xs = list(x)
        def f(g=None):
            g = f(g)
            return f(g)
        f = f(f)
        judge = create_llm_as_judge(prompt=a)
        judge = judge(outputs=judge)
        """
    assert [site.kind for site in sites_of(text)] == ["llm_as_judge"]


def test_metrics_of_an_adk_config_are_sites_with_places() -> None:
    sites = find_sites(
        config_of(
            '{"criteria": {\n'
            '  "tool_trajectory_avg_score": 1.0,\n'
            '  "final_response_match_v2": {"threshold": 0.8, "judgeModelOptions": {"numSamples": 3}},\n'
            '  "hallucinations_v1": {"threshold": 0.5, "judge_harness": {"repetitions": 3}},\n'
            '  "mine": {"threshold": 1}, "safety_v1": 0.5,\n'
            '  "rubric_based_tool_use_quality_v1": 0.5\n}}'
        )
    )
    assert [(s.kind, s.line, s.column, s.samples, s.harnessed, s.deterministic) for s in sites] == [
        ("tool_trajectory_avg_score", 2, 3, 1, False, True),
        ("final_response_match_v2", 3, 3, 3, False, False),
        ("hallucinations_v1", 4, 3, 1, True, False),
        ("safety_v1", 5, 29, 1, False, False),
        ("rubric_based_tool_use_quality_v1", 6, 3, 5, False, False),
    ]


@pytest.mark.parametrize("text", ["[]", '{"criteria": {"a": 1}}', '{"criteria": 3}', "3"])
def test_other_json_holds_no_judges(text: str) -> None:
    assert find_sites(config_of(text)) == ()


def test_an_agent_that_registers_harnesses_the_configs_of_its_app(tmp_path: Path) -> None:
    evals = tmp_path / "app" / "evals"
    evals.mkdir(parents=True)
    config = config_of('{"criteria": {"hallucinations_v1": 0.5, "safety_v1": 1}}', evals / "test_config.json")
    agent = tmp_path / "app" / "agent.py"
    for text, harnessed in (
        ("import judgeharness_adk\njudgeharness_adk.register()\n", True),
        ("from judgeharness_adk import register as go\ngo()\n", True),
        ("import judgeharness_adk  # register() later\n", False),
        ("judgeharness_adk is not Python", False),
        ("root_agent = 1\n", False),
    ):
        agent.write_text(text)
        assert [site.harnessed for site in find_sites(config)] == [harnessed, False]
    agent.write_text("root_agent = 1\n")
    (agent.parent / "__init__.py").write_text("import judgeharness_adk as j\nj.register()\n")
    assert find_sites(config)[0].harnessed


def test_a_file_without_a_word_of_judging_is_not_parsed() -> None:
    assert find_sites(Source(path=Path("a.py"), text="this is ( not Python")) == ()
