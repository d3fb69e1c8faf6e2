"""The fixture `harnessed` in real test runs, recorded by a loopback LangSmith."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest
from support.langsmith_server import LangSmithServer

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_langsmith.feedback import Measure
from judgeharness_langsmith.pytest_plugin import Harnessed, harnessed

pytestmark = pytest.mark.slow

__all__ = ["harnessed"]  # a fixture

pytest_plugins = ["pytester"]

Serve = Callable[..., LangSmithServer]
CONFTEST = 'pytest_plugins = ["judgeharness_langsmith.pytest_plugin"]'
JUDGED = """
    import asyncio

    import pytest
    from langsmith import testing as t

    from judgeharness_integrations import JudgeHarness
    from judgeharness_integrations.testing import ScriptedJudge

    HARNESS = JudgeHarness(perturbations=["none"], repetitions=4, aggregation_rule="supermajority(3/4)")


    @pytest.mark.langsmith
    @pytest.mark.parametrize("answers", [[True], [True, False]], ids=["decided", "open"])
    def test_marked(harnessed, answers):
        t.log_inputs({"question": "Hi?"})
        t.log_outputs({"answer": "Hello."})
        measure = harnessed(ScriptedJudge(answers, name="polite"), HARNESS)
        result = measure(inputs={"question": "Hi?"}, outputs={"answer": "Hello."})
        assert result.usage.calls == 4
        assert result.status == ("decided" if answers == [True] else "abstained")


    @pytest.mark.langsmith
    def test_async(harnessed):
        t.log_inputs({"question": "Hi?"})
        result = asyncio.run(harnessed(ScriptedJudge([0.5]), HARNESS_OF_SCORES, key="score").acall("Hello."))
        assert result.verdict == 0.5


    def test_unmarked(harnessed):
        assert harnessed(ScriptedJudge([True]), HARNESS)("Hello.").verdict == "PASS"


    HARNESS_OF_SCORES = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="median")
"""


def ran(server: LangSmithServer, pytester: pytest.Pytester, *options: str, **environment: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(JUDGED)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(LANGSMITH_TEST_SUITE="suite", **environment).items():
            patch.setenv(name, value)
        for name in [name for name in os.environ if name.startswith("PYTEST_XDIST")]:
            patch.delenv(name)  # LangSmith's table is for runs without workers
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q", *options)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_one_feedback_row_and_one_trace_a_measurement(
    langsmith_server: Serve, pytester: pytest.Pytester, workers: str
) -> None:
    server = langsmith_server()
    ran(server, pytester, f"-n{workers}").assert_outcomes(passed=4)
    assert server.unknown == []
    rows = [row for row in server.feedback if row["key"] != "pass"]
    found = sorted(((row["key"], row.get("score"), row.get("value")) for row in rows), key=str)
    assert found == [("polite", None, "ABSTAIN"), ("polite", True, None), ("score", 0.5, None)]
    traces = server.trees("evaluators")
    assert sorted(name for name, _, _ in traces) == ["polite", "polite", "scripted"]
    for _, _, [(name, kind, samples)] in traces:
        assert (name, kind) == ("judge_harness", "chain")
        assert {sample for sample, _, _ in samples} <= {f"sample[none#{n}]" for n in range(4)}
    linked = {
        str(row["feedback_source"]["metadata"]["__run"]["run_id"]) for row in server.feedback if row["key"] != "pass"
    }
    assert len(linked) == 3


@pytest.mark.slow
def test_the_output_table_of_langsmith_shows_the_verdicts(langsmith_server: Serve, pytester: pytest.Pytester) -> None:
    done = ran(langsmith_server(), pytester, "--langsmith-output")
    assert done.ret == 0
    assert "ABSTAIN" in done.stdout.str()


@pytest.mark.slow
def test_nothing_is_recorded_when_tracking_is_off(langsmith_server: Serve, pytester: pytest.Pytester) -> None:
    server = langsmith_server()
    ran(server, pytester, LANGSMITH_TEST_TRACKING="false", LANGSMITH_TRACING="false").assert_outcomes(passed=4)
    assert (server.feedback, server.runs) == ([], {})


def test_what_is_measured_is_a_case_or_values(langsmith_unset: None) -> None:
    judge = ScriptedJudge([True])
    measure = Measure(
        judge, JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority"), logs=False
    )
    case = AnswerCase(case_id="c", output="Hello.")
    assert measure(case).case_id == "c"
    given = {"outputs": {"answer": "Hello."}, "inputs": "Hi?", "language": "en"}
    values = measure(**given)
    assert judge.probes[-1].case.output == "Hello."
    assert judge.probes[-1].case.extra == {"language": "en"}
    assert (
        asyncio.run(measure.acall(outputs={"answer": "Hello."}, inputs="Hi?", language="en")).case_id == values.case_id
    )
    for wrong in (measure, lambda: measure(case, outputs="x"), lambda: measure(inputs="x")):
        with pytest.raises(UsageError, match="give a case, or outputs= with inputs="):
            wrong()


def test_the_fixture_measures_in_any_test(harnessed: Harnessed, langsmith_unset: None) -> None:
    measure = harnessed(ScriptedJudge([True]), JudgeHarness.quick("labels"), key="ok", private=True)
    assert measure.private
    assert measure("Hello *there*.").verdict == "PASS"
