"""ADK's configs and agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("libcst")

from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.migration.modules import ConfigSource, SourceError
from judgeharness_integrations.migration.rewriting import Migration, migrated, rewritten
from judgeharness_integrations.migration.rewriting.adk import JsonObject, json_document, rewritten_config
from judgeharness_integrations.migration.rewriting.changes import Level, Rewrite

RUBRIC = "rubric_based_final_response_quality_v1"
MEMBERS = ('"perturbations": ["none"]', '"aggregation_rule": "majority"')
NEUTRAL = {"perturbations": ["none"], "aggregation_rule": "majority"}
TWO = [{"rubric_id": name, "rubric_content": {"text_property": "It is."}} for name in "ab"]


def blocks(rewrite: Rewrite) -> dict[str, Any]:
    criteria = json.loads(rewrite.after)["criteria"]
    return {name: one.get("judge_harness") for name, one in criteria.items() if isinstance(one, dict)}


def config(criteria: dict[str, Any], level: Level = "single", *, registered: bool = False, **rest: Any) -> Rewrite:
    text = json.dumps({"criteria": criteria, **rest}, indent=2)
    found = rewritten_config(text, level, registered=registered)
    assert rewritten_config(found.after, level, registered=True).after == found.after
    return found


def test_single_asks_what_adk_asked_and_says_where_it_differs() -> None:
    criteria = {
        "response_match_score": 0.8,
        RUBRIC: {"threshold": 0.8, "rubrics": TWO, "judge_model_options": {"num_samples": 3}},
        "final_response_match_v2": 0.5,
        "hallucinations_v1": {"threshold": 0.5},
    }
    found = config(criteria)
    assert blocks(found) == {
        RUBRIC: NEUTRAL,
        "final_response_match_v2": NEUTRAL,
        "hallucinations_v1": {**NEUTRAL, "repetitions": 1},
    }
    assert [(one.calls_before, one.calls_after) for one in found.changes] == [(3, 3), (5, 5), (2, 2)]
    assert "a tie is an abstention" in found.notes[0]


def test_measured_asks_in_two_orders_of_what_each_judge_reads() -> None:
    one = {"threshold": 0.8, "rubrics": TWO[:1], "judgeModelOptions": {"numSamples": 4}}
    criteria: dict[str, Any] = {
        RUBRIC: {"threshold": 0.8, "rubrics": TWO},
        "rubric_based_multi_turn_trajectory_quality_v1": one,
        "rubric_based_tool_use_quality_v1": one,
        "final_response_match_v2": {"threshold": 0.5},
        "hallucinations_v1": {},
    }
    found = config(criteria, "measured")
    rule = {"aggregation_rule": "supermajority(2/3)"}
    assert blocks(found) == {
        RUBRIC: {"perturbations": ["none", "rubric_order"], **rule},
        "rubric_based_multi_turn_trajectory_quality_v1": {
            "perturbations": ["none", "format_change"],
            **rule,
            "on_unfit": "skip",
        },
        "rubric_based_tool_use_quality_v1": {"perturbations": ["none"], **rule},
        "final_response_match_v2": {"perturbations": ["none", "position_swap"], **rule},
        "hallucinations_v1": {"perturbations": ["none", "rubric_order"], **rule, "on_unfit": "skip"},
    }
    assert [one.calls_after for one in found.changes] == [10, 8, 4, 10, 11]
    assert not found.notes


def test_measured_raises_what_single_wrote_and_leaves_a_block_of_the_users_own() -> None:
    criterion = {"threshold": 0.8, "rubrics": TWO}
    single = config({RUBRIC: criterion})
    raised = rewritten_config(single.after, "measured", registered=True)
    assert raised.after == config({RUBRIC: criterion}, "measured").after
    assert [(one.action, one.calls_before, one.calls_after) for one in raised.changes] == [("raised", 5, 10)]
    own = {"aggregation_rule": "strict_majority"}
    kept = config({RUBRIC: {**criterion, "judgeHarness": own}}, "measured")
    assert (kept.changed, kept.harnessed) == (False, 1)
    preset = config({RUBRIC: {**criterion, "judge_harness": {"preset": "single"}}}, "measured")
    assert blocks(preset)[RUBRIC]["perturbations"] == ["none", "rubric_order"]


def test_what_is_registered_without_a_block_is_not_lowered() -> None:
    criteria = {RUBRIC: {"threshold": 0.8, "rubrics": TWO}, "final_response_match_v2": 0.5}
    found = config(criteria, registered=True)
    assert (found.changed, found.harnessed) == (False, 2)
    assert len(config(criteria, "measured", registered=True).changes) == 2


def test_metrics_out_of_reach_are_listed_and_custom_ones_stay() -> None:
    custom = {
        "mine": {"code_config": {"name": "my.metric"}},
        "final_response_match_v2": {"code_config": {"name": "my.own"}},
        "advice": {"codeConfig": {"name": f"judgeharness_adk.{RUBRIC}"}},
    }
    criteria = {"safety_v1": 0.8, "mine": 0.5, "final_response_match_v2": 0.5, "advice": {"threshold": 1}}
    found = config(criteria, customMetrics=custom)
    assert not found.changed
    assert [(one.kind, one.line) for one in found.by_hand] == [("safety_v1", 3)]
    assert found.harnessed == 1


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"threshold":1}', '{"threshold":1,"judge_harness":{"perturbations":["none"],"aggregation_rule":"majority"}}'),
        (
            '{ "threshold": 1 }',
            '{ "threshold": 1, "judge_harness": {"perturbations": ["none"], "aggregation_rule": "majority"} }',
        ),
        ("{}", '{"judge_harness": {"perturbations": ["none"], "aggregation_rule": "majority"}}'),
        (
            '{\r\n\t"threshold": 1\r\n}',
            '{\r\n\t"threshold": 1,\r\n\t"judge_harness": {\r\n\t\t' + ",\r\n\t\t".join(MEMBERS) + "\r\n\t}\r\n}",
        ),
        (
            '{\n   "threshold": 1}',
            '{\n   "threshold": 1,\n   "judge_harness": {\n      ' + ",\n      ".join(MEMBERS) + "\n   }}",
        ),
        ("1", '{"threshold": 1, "judge_harness": {"perturbations": ["none"], "aggregation_rule": "majority"}}'),
    ],
)
def test_the_block_is_laid_out_as_its_criterion_is_and_nothing_else_is_touched(text: str, written: str) -> None:
    around = '\n{{"criteria" :{{"x": 1,\n"final_response_match_v2":{}   ,"y":"é"}}\n}}\n\n'
    found = rewritten_config(around.format(text), "single")
    assert found.after == around.format(written)
    json.loads(found.after)
    assert found.changes[0].line == 3


@pytest.mark.parametrize("text", ["[]", "{}", '{"criteria": []}', '{"criteria": {"final_response_match_v2": "x"}}'])
def test_other_json_stays(text: str) -> None:
    assert not rewritten_config(text, "measured").changed


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a" 1}', '{"a": 1 "b": 2}', '{"a": 1,}', "{1: 2}", '{"a": 1} x', '{"a": tru}', '{"a": ' * 20_000],
)
def test_what_is_no_json_says_so(text: str) -> None:
    with pytest.raises(SourceError, match=r"test_config.json(:1)?: it is not JSON"):
        rewritten(ConfigSource(path=Path("test_config.json"), text=text))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(document=JSON, indent=st.sampled_from([None, 2, "\t"]))
def test_every_value_is_found_where_it_stands(document: Any, indent: int | str | None) -> None:
    text = json.dumps(document, indent=indent)
    found = json_document(f" {text}\n")
    assert found.value == document
    if isinstance(found, JsonObject):
        for name, member in found.members.items():
            assert json.loads(f" {text}\n"[member.start : member.end]) == document[name]


# agents


def app(folder: Path, agent: str | None = "from google.adk.agents import Agent\n\nroot_agent = Agent()\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if agent is not None:
        folder.joinpath("agent.py").write_text(agent, encoding="utf-8")
    criteria = {RUBRIC: {"threshold": 0.8, "rubrics": TWO}}
    folder.joinpath("test_config.json").write_text(json.dumps({"criteria": criteria}), encoding="utf-8")
    return folder


def files(migration: Migration) -> dict[str, str]:
    return {one.path.name: one.rewrite.after for one in migration.changed}


def test_the_agent_registers_once_for_all_its_configs(tmp_path: Path) -> None:
    app(tmp_path / "app")
    app(tmp_path / "app" / "evals" / "slow", agent=None)
    found = migrated([tmp_path], "single")
    assert [one.path.name for one in found.changed] == ["agent.py", "test_config.json", "test_config.json"]
    assert files(found)["agent.py"] == (
        "import judgeharness_adk\nfrom google.adk.agents import Agent\n\n"
        "judgeharness_adk.register()\n\nroot_agent = Agent()\n"
    )
    for one in found.changed:
        one.path.write_text(one.rewrite.after, encoding="utf-8")
    again = migrated([tmp_path], "single")
    assert again.changed == ()
    assert sum(one.rewrite.harnessed for one in again.files) == 2


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("root_agent = 1", "import judgeharness_adk\nroot_agent = 1\n\njudgeharness_adk.register()\n"),
        ("import os", "import judgeharness_adk\nimport os\n\njudgeharness_adk.register()\n"),
        (
            '"""Doc."""\nfrom .model import x\nx()\n',
            '"""Doc."""\nimport judgeharness_adk\nfrom .model import x\n\njudgeharness_adk.register()\n\nx()\n',
        ),
        (
            "import judgeharness_adk as jh\r\n\r\nx = jh\r\n",
            "import judgeharness_adk as jh\r\n\r\njh.register()\r\n\r\nx = jh\r\n",
        ),
    ],
)
def test_the_two_lines_stand_behind_the_imports(tmp_path: Path, agent: str, expected: str) -> None:
    folder = app(tmp_path, agent=None)
    folder.joinpath("agent.py").write_bytes(agent.encode())
    assert files(migrated([folder], "single"))["agent.py"] == expected


def test_an_agent_with_judges_of_its_own_gets_both(tmp_path: Path) -> None:
    agent = 'from openevals.llm import create_llm_as_judge\n\njudge = create_llm_as_judge(prompt="x", judge=m)\n'
    changed = files(migrated([app(tmp_path, agent)], "single"))["agent.py"]
    assert "judge = harness_judge(" in changed
    assert "judgeharness_adk.register()\n" in changed


def test_without_an_agent_the_call_is_listed(tmp_path: Path) -> None:
    folder = app(tmp_path / "evals", agent=None)
    [found] = migrated([folder], "single").files
    assert found.rewrite.by_hand[0].kind == "register"
    kept = app(tmp_path / "app")
    assert list(files(migrated([kept], "single", exclude=["agent.py"]))) == ["test_config.json"]


def test_a_config_that_is_named_alone_changes_its_agent_too(tmp_path: Path) -> None:
    folder = app(tmp_path)
    assert list(files(migrated([folder / "test_config.json"], "single"))) == ["agent.py", "test_config.json"]


def test_files_that_cannot_be_read_are_told_once(tmp_path: Path) -> None:
    folder = app(tmp_path, agent="def (\n")
    folder.joinpath("other").mkdir()
    folder.joinpath("other", "test_config.json").write_text('{"criteria": ', encoding="utf-8")
    found = migrated([tmp_path], "single")
    assert len(found.unreadable) == 2
    assert not found.changed
