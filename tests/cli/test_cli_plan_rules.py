"""`judgeharness plan --pilot` of a run: planned on the rule of that run, unless another one is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]
Configure = Callable[..., Path]
OWN = {"perturbations": ["none", "position_swap"], "repetitions": 2}


def ran(command: Command, configure: Configure, **harness: Any) -> Path:
    path = configure("good", harness=OWN | harness)
    out = path.parent / "out"
    assert command("run", path, "--out", out, "--yes").code == 0
    return out


def test_the_rule_and_quorum_of_the_run_are_planned_on(command: Command, configure: Configure) -> None:
    out = ran(command, configure, aggregation_rule="supermajority(2/3)", min_valid=3)
    for place in (out, out / "verdicts.sqlite"):
        found = command("plan", "--pilot", place)
        assert "decisions under supermajority(2/3) no wider than 0.1" in " ".join(found.out.split())
    assert "under majority" in command("plan", "--pilot", out, "--rule", "majority").out
    config = configure("good", name="other.json", harness=OWN | {"aggregation_rule": "strict_majority"})
    assert "under strict_majority" in command("plan", config, "--pilot", out).out
    designs = command("plan", "--pilot", out, "--perturbations", 1, "--json").json["designs"]
    assert {one["repetitions"] for one in designs if one["cases"] is not None} == {3, 5, 8}  # a quorum of 3
    apart = shutil.copy(out / "verdicts.jsonl", out.parent / "apart.jsonl")  # of which nobody knows the run
    assert "under majority" in command("plan", "--pilot", apart).out


def test_a_run_whose_rule_is_a_function_asks_for_a_rule(command: Command, configure: Configure) -> None:
    out = ran(command, configure, aggregation_rule="majority")
    documents = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    for document in documents:
        document["design"]["rule"] = None
    (out / "results.jsonl").write_text("\n".join(map(json.dumps, documents)))
    found = command("plan", "--pilot", out)
    assert found.code == 2
    assert "its rule is a function of the caller's own, which it does not hold: give --rule." in found.err
    assert command("plan", "--pilot", out, "--rule", "majority").code == 0


def test_a_quorum_beyond_every_design_is_planned_with_as_many_samples(command: Command, configure: Configure) -> None:
    out = ran(command, configure, aggregation_rule="majority", min_valid=4)
    config = configure("good", name="other.json", harness=OWN | {"aggregation_rule": "majority", "min_valid": 40})
    designs = command("plan", config, "--pilot", out, "--perturbations", 3, "--json").json["designs"]
    assert [(one["perturbations"], one["repetitions"]) for one in designs] == [(3, 14)]
