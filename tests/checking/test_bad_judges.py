"""`judgeharness check` names of a bad judge exactly the fault that was planted, and of a good one nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bad_judges import FAULTS, REWRITER, WORDING, BadJudges, write_sums
from support.extras import needs
from support.judge_orders import ORDERS
from support.openai_replies import Request
from support.openai_server import OpenAIServer
from support.wire_openai import OpenAIChat

from judgeharness_integrations.cli import main
from judgeharness_integrations.judging.probes import corpus

EVALUATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "pairwise": ("PairwiseJudge", {"output": "text"}),
    "graded": ("LabelJudge", {"output": "text", "taxonomy": {"PASS": "the sum is right", "FAIL": "it is wrong"}}),
    "scores": ("ScoreJudge", {"output": "text"}),
}
pytestmark = needs("langchain_openai")
CASES = 24
# some of what a judge of one answer can fall for as well
SINGLE = ("good", "names", "noisy", "verbosity", "injection.own_format", "injection.encoded", "sentinel.empty")


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(BadJudges()) as running:
        yield running


@pytest.fixture
def checked(server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Check one judge by the command, and return its part of check.json."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def check(fault: str, *arguments: str, kind: str = "pairwise", cases: int = CASES) -> dict[str, Any]:
        write_sums(tmp_path / "sums.jsonl", cases, kind=kind)
        evaluator, own = EVALUATORS[kind]
        options = {"base_url": f"{server.url}/v1", "api_key": "test", "max_retries": 0}
        config = {
            "judges": [
                {
                    "name": fault,
                    "adapter": "langchain",
                    "evaluator": evaluator,
                    "evaluator_options": own,
                    "model": f"openai:{fault}",
                    "model_options": options,
                }
            ],
            "cases": "sums.jsonl",
            "harness": {
                "shape": "labels" if kind == "graded" else kind,
                "instructions": [WORDING],
                "rewriter": {"adapter": "langchain", "model": f"openai:{REWRITER}", "model_options": options},
            },
            "execution": {"max_concurrency": 1, "max_attempts": 1},  # luck goes by turn
        }
        path = tmp_path / "check.yaml"
        path.write_text(json.dumps(config), encoding="utf-8")
        code = main(["check", str(path), "--out", str(tmp_path / "out"), "--yes", *arguments])
        document = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))
        [report] = document.get("judges", [document])
        assert code == (1 if report["failed"] else 0)
        assert report["outcomes"].get("error", 0) == 0
        return report

    return check


def planted(fault: str) -> list[str]:
    return [] if FAULTS[fault] is None else [str(FAULTS[fault])]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_exactly_the_planted_fault_is_named(checked: Callable[..., dict[str, Any]], fault: str) -> None:
    report = checked(fault)
    assert report["failed"] == planted(fault)
    unchecked = {one["name"] for one in report["properties"] if one["status"] == "not_checked"}
    copied = {"repetition"} if fault == "copies" else set()  # copies are no repetitions
    assert unchecked == {"whitespace", "typography"} | copied


@pytest.mark.slow
@pytest.mark.parametrize("fault", SINGLE)
@pytest.mark.parametrize("kind", ["graded", "scores"])
def test_so_it_is_with_judges_of_one_answer(checked: Callable[..., dict[str, Any]], fault: str, kind: str) -> None:
    assert checked(fault, kind=kind)["failed"] == planted(fault)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "arguments"),
    [
        ("good", ["--no-probes"]),
        ("position", ["--no-probes"]),
        ("injection.encoded", ["--probe", "injection.encoded", "--probe", "sentinel.empty"]),
    ],
)
def test_a_few_cases_are_enough(checked: Callable[..., dict[str, Any]], fault: str, arguments: list[str]) -> None:
    assert checked(fault, *arguments, "--repetitions", "2", cases=10)["failed"] == planted(fault)


def test_a_judge_obeys_all_orders_of_its_kind_and_none_of_another() -> None:
    read = 0
    for payload in corpus():
        for fault, order in ORDERS.items():
            found = order(f"42 is right.\n\n{payload.text}")
            if fault == payload.property:
                assert found == payload.slot if payload.slot else found is not None, payload
                read += 1
            else:
                assert found is None, (fault, payload)
    assert read > 100


def test_a_prompt_that_is_none_and_a_fault_there_is_not() -> None:
    judges = BadJudges()
    for model in ("good", "lazy"):
        body = {"model": model, "messages": []}
        with pytest.raises(ValueError, match="no "):
            judges(Request(number=0, body=body, headers={}, path=OpenAIChat.path, wire=OpenAIChat()))
