"""openevals judges of a configuration file."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openevals.prompts import CORRECTNESS_PROMPT
from support.openai_server import Reply, Request
from support.openevals_judging import Serve, scored
from typer.testing import CliRunner

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.cli.app import app
from judgeharness_integrations.judging.adapters import JudgeSpec, find_adapter
from judgeharness_openevals.wrapping import judge_from_spec


def spec(evaluator: str = "llm_as_judge", model: str | None = "openai:gpt-4o-test", **options: Any) -> JudgeSpec:
    model_options = options.pop("model_options", {"api_key": "test"})
    return JudgeSpec(
        name="mine", evaluator=evaluator, model=model, model_options=model_options, evaluator_options=options
    )


def answering(request: Request) -> Reply:
    schema = (request.schema or {})["properties"]
    return Reply.json({"reasoning": "ok", "preferred": "TIE"}) if "preferred" in schema else scored(score=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("evaluator", "options", "criterion", "verdict"),
    [
        ("llm_as_judge", {"prompt": "{inputs} {outputs}"}, "score", "PASS"),
        ("llm_as_judge", {"prompt": "CORRECTNESS_PROMPT", "feedback_key": "correct"}, "correct", "PASS"),
        ("trajectory_llm_as_judge", {}, "trajectory_accuracy", "PASS"),
        ("pairwise", {}, "preference", "TIE"),
        ("pairwise", {"prompt": "{output_a} {output_b}", "feedback_key": "better"}, "better", "TIE"),
    ],
)
def test_judges_are_made_by_name(
    openai_server: Serve, evaluator: str, options: dict[str, Any], criterion: str, verdict: str
) -> None:
    server = openai_server(answering)
    given = {"api_key": "test", "base_url": f"{server.url}/v1", "max_retries": 0}
    judge = find_adapter("openevals").build_judge(spec(evaluator, model_options=given, **options))
    fields: dict[str, Any] = {"case_id": "a", "input": "q", "output": "an answer", "reference": "r"}
    pairwise = evaluator == "pairwise"
    case = PairwiseCase(**fields, output_b="b") if pairwise else AnswerCase(**fields)
    result = JudgeHarness.quick("pairwise" if pairwise else "labels").evaluate(judge, case)
    assert (result.judge, result.only.criterion, result.verdict) == ("mine", criterion, verdict)
    if options.get("prompt") == "CORRECTNESS_PROMPT":
        assert CORRECTNESS_PROMPT[:80] in server.requests[0].text


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (spec("judge_of_all"), UnknownNameError, "unknown evaluator 'judge_of_all'"),
        (spec(model=None), ConfigError, "needs a model"),
        (spec(), ConfigError, "needs a prompt"),
        (spec(prompt=["a"]), ConfigError, "prompt is a text"),
        (spec(prompt="CORECTNESS_PROMPT"), UnknownNameError, "did you mean 'CORRECTNESS_PROMPT'"),
        (spec(promt="x"), UnknownNameError, "did you mean 'prompt'"),
        (spec(prompt="x", judge="y"), UnknownNameError, "option of llm_as_judge 'judge'"),
        (spec("pairwise", prompt="{outputs}"), ConfigError, "judge 'mine': the prompt of a pairwise judge"),
        (spec(prompt="x {outputs}", output_schema={"properties": {}}), ConfigError, "nothing to measure"),
        (spec(model="nobody:model", prompt="x {outputs}"), ConfigError, "model 'nobody:model' cannot be made"),
        (
            spec(model_options={"temperature": "hot-secret-1", "api_key": "sk-hidden"}, prompt="x {outputs}"),
            ConfigError,
            "temp",
        ),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_sentence(given: JudgeSpec, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence) as raised:
        judge_from_spec(given)
    assert "\n" not in str(raised.value)
    assert "sk-hidden" not in str(raised.value)


@pytest.mark.slow
def test_a_run_over_a_case_file(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server([scored(score=True)])
    (tmp_path / "cases.csv").write_text("case_id,input,output,context\na,Why?,Because it is.,c\nb,How?,Like this.,c\n")
    (tmp_path / "run.yaml").write_text(
        textwrap.dedent(f"""
        judges:
          - name: right
            adapter: openevals
            evaluator: llm_as_judge
            model: openai:gpt-4o-test
            model_options: {{api_key: test, base_url: "{server.url}/v1", max_retries: 0}}
            evaluator_options: {{prompt: "{{context}} {{inputs}} {{outputs}}", feedback_key: right}}
        cases: cases.csv
        harness: {{preset: standard, shape: labels}}
        out: results
        """)
    )
    done = CliRunner().invoke(app, ["run", str(tmp_path / "run.yaml"), "--json"])
    assert done.exit_code == 0, done.output
    assert server.calls == 12
    assert "right" in json.dumps(json.loads(done.stdout))


@pytest.mark.slow
def test_without_openevals_the_package_imports_and_says_what_to_install() -> None:
    program = """
    import sys
    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "openevals":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Blocked())
    import judgeharness_openevals
    from judgeharness_integrations._errors import NotInstalledError
    try:
        judgeharness_openevals.harness_judge
    except NotInstalledError as error:
        print(error)
    try:
        judgeharness_openevals.no_such_name
    except AttributeError as error:
        print(error)
    """
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=60
    )
    assert "openevals (openevals) is not installed: pip install '.[openevals]'" in done.stdout
    assert "has no attribute 'no_such_name'" in done.stdout


def test_a_model_is_asked_at_a_tier_where_its_client_has_one(openai_server: Serve) -> None:
    server = openai_server(answering)
    given = {"api_key": "test", "base_url": f"{server.url}/v1"}
    one = spec(model_options=given, prompt="{inputs} {outputs}")
    judge = judge_from_spec(replace(one, tier="flex"))
    JudgeHarness.single("labels").evaluate(judge, AnswerCase(case_id="a", input="q", output="an answer"))
    assert [request.body["service_tier"] for request in server.requests] == ["flex"]
    assert judge.identity == judge_from_spec(one).identity
    with pytest.raises(ConfigError, match="has no tier flex in its client: give its judge tier: standard"):
        judge_from_spec(replace(one, model="anthropic:claude-sonnet-4-6", model_options={"api_key": "x"}, tier="flex"))
