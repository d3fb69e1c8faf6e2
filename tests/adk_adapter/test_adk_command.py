"""`judgeharness run` with ADK's rubric judges over ADK's own files, without the `adk` command."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from support.adk_answers import JudgePrompt
from support.adk_bench import (
    FINAL_RESPONSE,
    always,
    api_base_variables,
    eval_config,
    eval_set,
    in_turn,
    isolated_adk,
    judge_options,
    rubric,
    run_adk_eval,
    scripted_judge,
    serve,
    write_agent_folder,
)
from support.adk_outcomes import MATCH, MULTI_TURN
from support.openai_replies import Reply, Request
from support.openai_server import OpenAIServer
from support.provider_server import ProviderServer

from judgeharness_adk.invocations import read_eval_set
from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.verdictlog import read_log

Command = Callable[..., Any]
RUBRICS = [rubric(name).model_dump(exclude_none=True) for name in ("polite", "short")]
HARNESS = {"perturbations": ["none", "rubric_order"], "repetitions": 3, "aggregation_rule": "majority"}


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path):
        yield


def judge(evaluator: str, *, rubrics: bool = True, **more: Any) -> dict[str, Any]:
    options = {"evaluator_options": {"rubrics": RUBRICS}} if rubrics else {}
    return {"name": evaluator, "adapter": "adk", "evaluator": evaluator, "model": "scripted-judge", **options, **more}


def write(folder: Path, judges: list[dict[str, Any]], cases: Path, harness: dict[str, Any] | None = None) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps({"judges": judges, "cases": str(cases), "harness": harness or HARNESS}))
    return path


def write_eval_set(folder: Path, cases: int = 2, turns: int = 2) -> Path:
    path = folder / "weather.evalset.json"
    path.write_text(eval_set(cases, turns).model_dump_json(exclude_none=True))
    return path


@pytest.mark.slow
def test_an_eval_set_is_judged_without_the_adk_command(command: Command, tmp_path: Path) -> None:
    config = write(tmp_path, [judge(FINAL_RESPONSE), judge(MULTI_TURN)], write_eval_set(tmp_path))
    with scripted_judge(in_turn({"polite": "yes", "short": "no"})) as model:
        ran = command("run", config, "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    rows = read_log(tmp_path / "out" / "verdicts.jsonl")
    by_judge = {name: {row.case_id for row in rows if row.judge == name} for name in (FINAL_RESPONSE, MULTI_TURN)}
    assert by_judge == {
        FINAL_RESPONSE: {"case_0#1", "case_0#2", "case_1#1", "case_1#2"},
        MULTI_TURN: {"case_0#2", "case_1#2"},  # a conversation is judged at its end
    }
    assert model.calls == (4 + 2) * 6
    assert {(row.criterion, row.verdict) for row in rows} == {("polite", "PASS"), ("short", "FAIL")}
    assert {row.attributes["eval_set_id"] for row in rows} == {"weather_set"}


@pytest.mark.slow
def test_what_adk_eval_kept_is_judged_again(command: Command, tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path, config=eval_config({FINAL_RESPONSE: judge_options("scripted-judge")}))
    with scripted_judge(always("yes")):
        run_adk_eval(folder, in_process=True)
        [kept] = folder.path.glob(".adk/eval_history/*.evalset_result.json")
        harness = {"perturbations": ["none", "position_swap"], "repetitions": 2, "aggregation_rule": "swap_consensus"}
        config = write(tmp_path, [judge(MATCH, rubrics=False)], kept, harness)
        ran = command("run", config, "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    rows = read_log(tmp_path / "out" / "verdicts.jsonl")
    assert sorted((row.case_id, row.criterion, row.verdict, row.swapped) for row in rows) == [
        ("case_0#1", "final_response_match", "PASS", swapped) for swapped in (False, False, True, True)
    ]


def test_a_reference_nobody_gave_is_asked_for(command: Command, tmp_path: Path) -> None:
    config = write(
        tmp_path, [judge(MATCH, rubrics=False)], write_eval_set(tmp_path), HARNESS | {"perturbations": ["none"]}
    )
    with scripted_judge(always("yes")) as model:
        ran = command("run", config)
    assert (ran.code, model.calls) == (2, 0)
    assert "compares with an expected response" in ran.err


@pytest.mark.slow
def test_gemini_at_half_the_price_and_at_the_whole_where_that_refuses(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = in_turn({"polite": "yes", "short": "no"})
    tiers: list[str] = []

    def script(request: Request) -> Reply:
        tiers.append(request.wire.tier(request.body))
        if tiers[-1] == "flex" and tiers.count("flex") % 3 == 0:
            return Reply.status(503)
        return Reply.text(answered(JudgePrompt(request.user)))

    config = write(tmp_path, [judge(FINAL_RESPONSE, model="gemini-2.5-flash")], write_eval_set(tmp_path))
    config.write_text(json.dumps({**json.loads(config.read_text()), "execution": {"tier": "flex"}}))
    with ProviderServer(script) as server:
        monkeypatch.setenv("GOOGLE_API_KEY", "test")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        ran = command("run", config, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    rows = read_log(tmp_path / "out" / "verdicts.jsonl")
    asked = {(row.case_id, row.perturbation, row.repetition): row.attributes for row in rows}
    refused = sum("tier_refused" in attributes for attributes in asked.values())
    assert Counter(tiers) == {"flex": len(asked), "standard": refused}
    assert {attributes["asked_tier"] for attributes in asked.values()} == {"flex"}
    assert len(asked) == 24
    assert refused == 8
    assert "24 calls asked at tier flex" in ran.out


@pytest.mark.slow
@pytest.mark.untraced
def test_litellm_and_a_rewriter_of_adk(command: Command, tmp_path: Path, openai_server: Any) -> None:
    def script(prompt: Any) -> str:
        return always("yes")(prompt) if prompt.kind != "unknown" else "It is chilly in Oslo."

    server: OpenAIServer = openai_server(serve(script))
    rewriter = {"adapter": "adk", "model": "openai/judge-test", "model_options": {"temperature": 0.5}}
    harness = HARNESS | {"perturbations": ["none", "paraphrase"], "rewriter": rewriter, "repetitions": 1}
    one = judge(FINAL_RESPONSE, model="openai/judge-test", model_options={"temperature": 1.0})
    config = write(tmp_path, [one], write_eval_set(tmp_path, 1, 1), harness)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in api_base_variables(server.url).items():
            patch.setenv(name, value)
        ran = command("run", config, "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    assert server.calls == 3
    assert sorted(request.body["temperature"] for request in server.requests) == [0.5, 1.0, 1.0]
    assert {row.model for row in read_log(tmp_path / "out" / "verdicts.jsonl")} == {"judge-test"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"evaluator": "rubric_based_final_response"}, f"did you mean {FINAL_RESPONSE!r}?"),
        (
            {"evaluator": "hallucinations_v1"},
            "hallucinations_v1 judges sentences that only adk's own evaluation segments",
        ),
        ({"model": None}, "needs a model, as in model: gemini-2.5-flash"),
        ({"model": "no-such-model"}, "judge_model 'no-such-model' cannot be made"),
        ({"model_options": {"temprature": 1}}, "model_options.temprature: Extra inputs are not permitted"),
        ({"evaluator_options": {"rubrics": "polite"}}, "rubrics cannot be used (Input should be a valid list)"),
        (
            {"evaluator_options": {"rubrics": RUBRICS, "judge_model_options": {}}},
            "judge_model_options is said by model",
        ),
        ({"evaluator_options": {}}, "Rubrics are required"),
    ],
)
def test_mistakes_are_one_sentence_and_cost_nothing(
    command: Command, tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    given = {name: value for name, value in (judge(FINAL_RESPONSE) | changes).items() if value is not None}
    config = write(tmp_path, [given], write_eval_set(tmp_path), HARNESS | {"perturbations": ["none"]})
    with scripted_judge(always("yes")) as model:
        ran = command("run", config)
    assert (ran.code, model.calls) == (2, 0)
    assert sentence in ran.err
    assert ran.err.strip().count("\n") == 0


OWN_MODEL = """
from support.adk_judges import ScriptedLlm

class OwnJudge(ScriptedLlm):
    @classmethod
    def supported_models(cls):
        return ["own-judge"]

def no_model():
    pass
"""


@pytest.mark.slow
def test_a_model_class_of_ones_own_is_imported(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own_models.py").write_text(OWN_MODEL)
    options = {"rubrics": RUBRICS, "model_class": "own_models:OwnJudge"}
    config = write(
        tmp_path, [judge(FINAL_RESPONSE, model="own-judge", evaluator_options=options)], write_eval_set(tmp_path)
    )
    with scripted_judge(always("yes"), model="own-judge") as model:
        ran = command("run", config, "--out", tmp_path / "out", "--json")
    assert (ran.code, model.calls) == (0, 24), ran.err
    assert "EXPERIMENTAL" not in ran.err
    options["model_class"] = "own_models:no_model"
    config = write(
        tmp_path, [judge(FINAL_RESPONSE, model="own-judge", evaluator_options=options)], write_eval_set(tmp_path)
    )
    ran = command("run", config, "--out", tmp_path / "out2")
    assert (ran.code, "is no subclass of ADK's BaseLlm" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be read"),
        ("[1]", "is neither an ADK eval set nor a result of one"),
        ("{}", "is neither an ADK eval set nor a result of one"),
        ('{"eval_set_id": "x", "eval_cases": []}', "holds no conversation to judge"),
        ('{"eval_case_results": 3}', "is neither an ADK eval set nor a result of one"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_files_that_are_no_eval_sets(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(CaseError, match=sentence):
        read_eval_set(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="cannot be read"):
        read_eval_set(tmp_path / "missing.json")


def test_rubrics_of_a_case_belong_to_its_invocations(tmp_path: Path) -> None:
    evals = eval_set(1, 2)
    evals.eval_cases[0].rubrics = [rubric("warm", kind="FINAL_RESPONSE_QUALITY")]
    path = tmp_path / "own.evalset.json"
    path.write_text(evals.model_dump_json(exclude_none=True))
    cases = read_eval_set(path)
    assert [[one.rubric_id for one in case.judged.rubrics or ()] for case in cases] == [["warm"], ["warm"]]
    assert [(case.case_id, case.is_last) for case in cases] == [("case_0#1", False), ("case_0#2", True)]
