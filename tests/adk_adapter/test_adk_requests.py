"""What a request to ADK's server may name, and what it may not: nothing in it is imported, opened or created."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi.testclient import TestClient
from google.adk.cli.fast_api import get_fast_api_app
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from support.adk_bench import (
    FINAL_RESPONSE,
    always,
    eval_config,
    eval_set,
    isolated_adk,
    judge_options,
    run_adk_eval,
    run_agent_evaluator,
    scripted_judge,
    write_agent_folder,
)
from support.adk_offline import known_warnings, process_environment
from support.adk_outcomes import evaluate_case_with

import judgeharness_adk
from judgeharness_integrations import CalibrationReport
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.aggregation.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.adk_bench import AgentFolder, ScriptedJudge

pytestmark = pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")  # ADK's server reads such fields itself

IMPORT = "import judgeharness_adk"
DEADLY = ("sys:exit", "faulthandler:_sigsegv")
REGISTER = f"{IMPORT}\njudgeharness_adk.register()"


def registering(verdict: str, *, name: str = "mine", folder: str | None = None) -> str:
    """Lines of agent.py that register a rule which decides everything one way."""
    return f"{IMPORT}\njudgeharness_adk.register(rules={{{name!r}: lambda rows: {verdict!r}}}, folder={folder!r})"


def rationale(client: httpx.Client, folder: AgentFolder, block: dict[str, Any], **options: Any) -> str:
    """Return what an evaluation says of its one rubric; the block arrives in the request."""
    criterion = judge_options("scripted-judge", judge_harness=block, **options)
    metric = {"metric_name": FINAL_RESPONSE, "threshold": 1.0, "criterion": criterion}
    answer = client.post(
        f"/dev/apps/{folder.name}/eval-sets/weather_set/run",
        json={"eval_case_ids": ["case_0"], "eval_metrics": [metric]},
    )
    assert answer.status_code == 200, answer.text
    [case] = answer.json()["runEvalResults"]
    [result] = [one for one in case["overallEvalMetricResults"] if one["metricName"] == FINAL_RESPONSE]
    return str(result["details"]["rubricScores"][0]["rationale"])


@dataclass
class Server:
    """The server of `adk web`, and the judge its agents are judged by."""

    client: TestClient
    judge: ScriptedJudge

    def evaluate(self, folder: AgentFolder, block: dict[str, Any], **options: Any) -> str:
        return rationale(self.client, folder, block, **options)

    def refused(self, folder: AgentFolder, block: dict[str, Any], **options: Any) -> str:
        """Return the sentence an evaluation is refused with before the judge is asked."""
        before = self.judge.calls
        said = self.evaluate(folder, block, **options)
        assert (said[:15], self.judge.calls) == ("NOT MEASURED · ", before), said
        return said.removeprefix("NOT MEASURED · ")


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path), known_warnings():
        yield


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "agents").mkdir()
    app = get_fast_api_app(agents_dir=str(tmp_path / "agents"), web=True)
    client = TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50_000))
    with scripted_judge(always("yes")) as judge, client:
        yield Server(client, judge)


def agent(tmp_path: Path, extra: str = REGISTER, name: str = "weather_app") -> AgentFolder:
    folder = write_agent_folder(tmp_path, extra=extra, name=name)
    folder.path.joinpath("weather_set.evalset.json").write_text(eval_set().model_dump_json(exclude_none=True))
    return folder


def everything_below(folder: Path) -> set[Path]:
    """What is there, but for what ADK and Python keep themselves."""
    kept = {"__pycache__", ".adk", "EvaluationGenerator"}
    return {path for path in folder.rglob("*") if not kept & set(path.relative_to(folder).parts)}


def calibration(path: Path) -> str:
    """Save a calibration that holds no labels; return its file's name."""
    report = CalibrationReport(
        name="people",
        judge="judge",
        source="human",
        consensus="majority",
        excluded_ties=0,
        criteria={},
        measured_at="2026-11-01T12:00:00+00:00",
    )
    return report.save(path).name


# Rules


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rule", ["subprocess:getoutput", "canary:fold", "canary:no.such", "no_such_module:fold"])
def test_a_rule_in_a_request_is_not_imported(tmp_path: Path, server: Server, rule: str) -> None:
    (tmp_path / "canary.py").write_text("open('imported', 'w').close()\ndef fold(rows): return 'PASS'\n")
    assert server.refused(agent(tmp_path), {"aggregation_rule": rule}) == (
        f"judge_harness.aggregation_rule: {rule!r} is not imported: "
        "name a built-in rule, or one that register(rules=...) in agent.py names."
    )
    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
def test_names_of_one_agent_are_not_seen_by_another(tmp_path: Path, server: Server) -> None:
    one = agent(tmp_path, registering("ONE"), "one")
    two = agent(tmp_path, registering("TWO"), "two")
    third = agent(tmp_path, registering("THREE", name="third_rule"), "third")
    bare = agent(tmp_path, "", "bare")  # all four have a root agent of the same name
    block = {"aggregation_rule": "mine"}
    for _ in range(2):
        assert server.evaluate(one, block).startswith("decided ONE, ")
        assert server.evaluate(two, block).startswith("decided TWO, ")
        for other in (third, bare):
            assert server.refused(other, block) == server.refused(other, {"aggregation_rule": "name"}).replace(
                "'name'", "'mine'"
            )
        assert "third_rule" not in server.refused(one, {"aggregation_rule": "third_rul"})


@pytest.mark.slow
def test_what_is_registered_in_the_package_or_with_an_app_is_found(tmp_path: Path, server: Server) -> None:
    package = agent(tmp_path, "", "package")
    (package.path / "__init__.py").write_text(f"{registering('ONE')}\nfrom . import agent\n")
    app = agent(tmp_path, registering("TWO"), "app")
    with (app.path / "agent.py").open("a") as file:
        file.write(
            "\nfrom google.adk.apps.app import App\napp, root_agent = App(name='app', root_agent=root_agent), None\n"
        )
    block = {"aggregation_rule": "mine"}
    assert server.evaluate(package, block).startswith("decided ONE, ")
    assert server.evaluate(app, block).startswith("decided TWO, ")


@pytest.mark.slow
def test_a_server_of_its_own_survives_a_rule_that_would_kill_it(tmp_path: Path) -> None:
    judge = "from support.adk_judges import always, register_judge\nregister_judge('scripted-judge', always('yes'))\n"
    folder = agent(tmp_path, judge + REGISTER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(Path(sys.executable).parent / "adk"), "web", "--port", str(port)]
    environment = process_environment(tmp_path / "home", {})
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen([*command, str(folder.agents_dir)], env=environment, stdout=log, stderr=log) as process,  # noqa: S603 - ADK's
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", transport=httpx.HTTPTransport(retries=9), timeout=60
        ) as client,
    ):
        try:
            while "Uvicorn running" not in (tmp_path / "log").read_text():
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.1)
            said = [rationale(client, folder, {"aggregation_rule": rule}) for rule in (*DEADLY, "majority")]
            assert process.poll() is None
        finally:
            process.terminate()
    assert [f"{rule!r} is not imported" in text for rule, text in zip(DEADLY, said, strict=False)] == [True, True]
    assert said[-1].startswith("5 PASS of 5 · majority")


# Files


def outside(tmp_path: Path, folder: AgentFolder) -> list[str]:
    """Ways out of an agent's folder to a file or directory `there`, and to `gone`, which is none."""
    (folder.path / "link").symlink_to(tmp_path)
    return [f"{tmp_path}/", "../../", "link/", "./../../", "~/", f"{folder.path}/../../", f"file://{tmp_path}/"]


@pytest.mark.slow
def test_a_calibration_outside_the_folder_is_refused_alike_there_or_not(tmp_path: Path, server: Server) -> None:
    folder = agent(tmp_path)
    (tmp_path / "home").mkdir(exist_ok=True)
    for place in (tmp_path, tmp_path / "home"):
        calibration(place / "there.json")
    for way in outside(tmp_path, folder):
        there = server.refused(folder, {"calibration": f"{way}there.json"})
        gone = server.refused(folder, {"calibration": f"{way}gone.json"})
        assert there == gone.replace("gone.json", "there.json")
        assert "is no calibration below the folder of this agent: put one there" in there


@pytest.mark.slow
def test_what_is_no_calibration_is_refused_like_what_is_not_there(tmp_path: Path, server: Server) -> None:
    folder = agent(tmp_path, REGISTER)
    for name in (".env", "deep.json"):
        (folder.path / name).write_text("[" * 5_000)
    for place in (
        "agent.py",
        ".env",
        ".",
        "__pycache__",
        "deep.json",
        "a\0b",
        "",
        "C:\\boot.ini",
        "x" * 300,
    ):
        there = server.refused(folder, {"calibration": place})
        assert there == server.refused(folder, {"calibration": "gone"}).replace("'gone'", repr(place))


@pytest.mark.slow
def test_a_sidecar_outside_the_folder_is_refused_alike_and_not_made(tmp_path: Path, server: Server) -> None:
    folder = agent(tmp_path)
    for place in (tmp_path, tmp_path / "home"):
        (place / "there").mkdir(parents=True)
    ways = outside(tmp_path, folder)
    before = everything_below(tmp_path)
    for way in ways:
        there = server.refused(folder, {"sidecar": f"{way}there"})
        assert there == server.refused(folder, {"sidecar": f"{way}gone"}).replace("gone", "there")
        assert "is no directory below the folder of this agent: put one there" in there
    assert everything_below(tmp_path) == before


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "name", ["new", "new/deeper", "agent.py", "agent.py/new", "..", ".", "", "a\0b", "a\\b", "C:new"]
)
def test_no_request_makes_a_directory(tmp_path: Path, server: Server, name: str) -> None:
    folder = agent(tmp_path)
    before = everything_below(tmp_path)
    assert "is no directory below the folder of this agent" in server.refused(folder, {"sidecar": name})
    assert everything_below(tmp_path) == before


def test_what_lies_below_the_folder_is_used_and_nothing_there_is_overwritten(tmp_path: Path, server: Server) -> None:
    folder = agent(tmp_path)
    kept = folder.path / "kept" / "2026"
    kept.mkdir(parents=True)
    (kept / "mine.judgeharness.jsonl").write_text("mine")
    block = {"sidecar": "kept/2026", "calibration": f"kept/{calibration(kept.parent / 'people.json')}"}
    before = {path: path.read_bytes() for path in everything_below(folder.path) if path.is_file()}
    assert "calibration unverifiable" in server.evaluate(folder, block)
    [new] = {path for path in everything_below(folder.path) if path.is_file()} - set(before)
    assert new.parent == kept
    assert json.loads(new.read_text())["schema"] == "judgeharness.adk/1"
    assert all(path.read_bytes() == content for path, content in before.items())


@pytest.mark.slow
def test_the_folder_is_the_one_an_agent_names_and_its_own(tmp_path: Path, server: Server) -> None:
    (tmp_path / "agents" / "shared").mkdir()
    calibration(tmp_path / "agents" / "shared" / "people.json")
    named, plain = agent(tmp_path, registering("ONE", folder="../shared"), "named"), agent(tmp_path, name="plain")
    block = {"calibration": "people.json"}
    assert "calibration unverifiable" in server.evaluate(named, block)
    assert "is no calibration below the folder" in server.refused(plain, block)


# Money


@pytest.mark.slow
@pytest.mark.parametrize("block", [{"repetitions": 10**12}, {"max_calls": 10**12, "repetitions": 10**12}])
def test_a_request_for_any_number_of_calls_is_refused(tmp_path: Path, server: Server, block: dict[str, int]) -> None:
    folder = agent(tmp_path)
    assert "10000" in server.refused(folder, block)
    assert "more than max_calls=10000: nothing was asked" in server.refused(folder, {}, samples=10**12)


# Ways in other than a request


def test_a_block_of_test_config_names_no_function_either(tmp_path: Path) -> None:
    (tmp_path / "my_rules.py").write_text("open('imported', 'w').close()\ndef fold(rows): return 'PASS'\n")
    folder = agent(tmp_path)
    criterion = judge_options("scripted-judge", judge_harness={"aggregation_rule": "my_rules:fold"})
    folder.config.write_text(json.dumps(eval_config({FINAL_RESPONSE: criterion})))
    with scripted_judge(always("yes")) as judge:
        run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
    assert (run.exit_code, judge.calls) == (1, 0)
    assert "'my_rules:fold' is not imported: name a built-in rule, or one that register(rules=...)" in run.stdout
    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
def test_a_custom_metric_names_what_its_agent_registered(tmp_path: Path) -> None:
    folder = agent(tmp_path, registering("ONE"))
    criterion = judge_options("scripted-judge", judge_harness={"aggregation_rule": "mine"})
    custom = {"polite": {"code_config": {"name": f"judgeharness_adk.{FINAL_RESPONSE}"}}}
    folder.config.write_text(json.dumps(eval_config({"polite": criterion}, custom_metrics=custom)))
    with scripted_judge(always("yes")) as judge:
        run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
    assert judge.calls == 5
    assert "decided ONE, which is neither PASS nor FAIL" in run.stdout


@pytest.mark.slow
def test_a_sub_agent_under_evaluation_has_the_names_of_its_root(tmp_path: Path) -> None:
    folder = agent(tmp_path, registering("FAIL"))
    with (folder.path / "agent.py").open("a") as file:
        file.write("\nroot_agent = Agent(name='root', model='scripted-weather', sub_agents=[root_agent])\n")
    criterion = judge_options("scripted-judge", judge_harness={"aggregation_rule": "mine"})
    folder.config.write_text(json.dumps(eval_config({FINAL_RESPONSE: criterion})))
    with scripted_judge(always("yes")) as judge:
        run = run_agent_evaluator(folder, agent_name="weather")
    assert judge.calls == 5
    assert "Expected 1.0, but got 0.0" in str(run.failure)


WITH_PART = """import part.agent
parts = [part.agent.root_agent]
root_agent = Agent(name="root", model="scripted-weather", tools=root_agent.tools, sub_agents=parts)"""


@pytest.mark.slow
@pytest.mark.parametrize("uses", [WITH_PART, "from part import agent"], ids=["sub-agent", "name"])
def test_an_agent_that_registered_nothing_has_no_names_of_one_that_uses_it(
    tmp_path: Path, server: Server, uses: str
) -> None:
    part = agent(tmp_path, "", "part")
    whole = agent(tmp_path, registering("ONE"), "whole")
    with (whole.path / "agent.py").open("a") as file:
        file.write(f"\n{uses}\n")
    block = {"aggregation_rule": "mine"}
    for _ in range(2):
        assert server.evaluate(whole, block).startswith("decided ONE, ")  # which loads the other one, too
        assert server.refused(part, block) == server.refused(part, {"aggregation_rule": "name"}).replace(
            "'name'", "'mine'"
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("rules={'majority': len}", "'majority' is a built-in rule: give yours another name"),
        ("rules={'supermajority(2)': len}", "is a built-in rule"),
        ("rules={' ': len}", "' ' is no name of a rule"),
        ("rules={'mine': 'majority'}", "'mine' must be a function of rows or a Rule, not 'majority'"),
        ("folder='nowhere'", "nowhere is no directory"),
    ],
)
def test_what_cannot_be_registered_is_a_sentence(arguments: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        eval(f"judgeharness_adk.register({arguments})")  # noqa: S307 - this test's own text


def test_a_rule_is_known_by_the_name_it_is_registered_under() -> None:
    registry = DEFAULT_METRIC_EVALUATOR_REGISTRY.fork()
    judgeharness_adk.register(registry, rules={"mine": Rule("other", lambda _: "ONE", kind="labels")})
    with scripted_judge(always("yes")) as judge:
        criterion = judge_options(judge.model, judge_harness={"aggregation_rule": "mine"})
        [result] = evaluate_case_with(registry, {FINAL_RESPONSE: criterion}).overall_eval_metric_results
    assert "· mine ·" in str((result.details.rubric_scores or [])[0].rationale)
