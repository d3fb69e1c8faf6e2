"""Commands with judges over decision models: a real client and a loopback server with planted probabilities."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.decision_fixtures import KEY, Decide, decision_server
from support.decision_models_there import decision_models_are_there
from support.planted_decisions import Planted
from support.provider_server import ProviderServer

from judgeharness_integrations.verdictlog import read_log

if not decision_models_are_there():
    pytest.skip("langchain-openai has no decision models yet", allow_module_level=True)

__all__ = ["decision_server"]  # a fixture
Command = Callable[..., Any]
TEXTS = [(f"the answer number {n} says one thing", f"the answer number {n} says another") for n in range(30)]


def write_config(folder: Path, server: ProviderServer, *, names: tuple[str, ...] = ("decides",)) -> Path:
    planted = Planted()
    gold = ["A" if planted.strength("help", one) > planted.strength("help", two) else "B" for one, two in TEXTS]
    lines = [f"c{n},q,{one},{two},{label}" for n, ((one, two), label) in enumerate(zip(TEXTS, gold, strict=True))]
    (folder / "pairs.csv").write_text("\n".join(["case_id,input,output,output_b,gold", *lines]) + "\n")
    judges = "".join(
        f"""
  - name: {name}
    adapter: langchain
    evaluator: DecisionJudge
    model: openai:gpt-6-luna
    model_options: {{base_url: '{server.url}/v1', api_key: {KEY}}}
    evaluator_options: {{shape: pairwise, criteria: {criterion}, tie: false}}"""
        for name, criterion in zip(names, ("help", "form"), strict=False)
    )
    path = folder / "run.yaml"
    path.write_text(
        f"judges:{judges}\ncases: pairs.csv\nharness: {{shape: pairwise, preset: standard}}\n"
        "execution: {max_concurrency: 4, max_attempts: 1}\n"
    )
    return path


def test_a_run_keeps_the_probabilities_and_asks_once(command: Command, tmp_path: Path, decision_server: Decide) -> None:
    server = decision_server(Planted(model="gpt-6-luna-2026-09-01"))
    ran = command("run", write_config(tmp_path, server), "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    assert server.calls == 61  # both orders of 30 pairs, and one once more
    (judge,) = ran.json["judges"]
    assert judge["criteria"][0]["accuracy"] == 1.0
    rows = read_log(tmp_path / "out" / "verdicts.jsonl")
    planted = Planted()
    for row in rows:
        one, two = TEXTS[int(row.case_id[1:])]
        shares = dict(zip("AB", planted.pair("help", one, two, tie=False), strict=True))
        assert row.probabilities == pytest.approx(shares)
        assert row.model == "gpt-6-luna-2026-09-01"
    for file in (tmp_path / "out").iterdir():
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.slow
def test_runs_are_compared_and_judges_ranked(command: Command, tmp_path: Path, decision_server: Decide) -> None:
    config = write_config(tmp_path, decision_server(Planted()), names=("decides", "other"))
    first = command("run", config, "--out", tmp_path / "first", "--json")
    assert first.code == 0, first.err
    write_config(tmp_path, decision_server(Planted(order_bias=3.0)), names=("decides", "other"))
    second = command("run", config, "--out", tmp_path / "second", "--json")
    assert second.code == 0, second.err
    compared = command("compare", tmp_path / "first", tmp_path / "second", "--judge", "decides", "--json")
    assert compared.code in (0, 1), compared.err
    assert json.dumps(compared.json).count("decides")
    ranked = command("rank", tmp_path / "first" / "verdicts.jsonl", "--json")
    assert ranked.code == 0, ranked.err
    assert ranked.json["judges"][0]["judge"] == "decides"


@pytest.mark.slow
def test_a_judge_is_checked_in_other_forms_too(command: Command, tmp_path: Path, decision_server: Decide) -> None:
    config = write_config(tmp_path, decision_server(Planted(option_bias=4.0)))
    config.write_text(
        config.read_text().replace("preset: standard}", "perturbations: [none, option_order, option_names, negated]}")
    )
    told = ("--probe", "authority", "--repetitions", 2, "-y", "--out", tmp_path / "check", "--json")
    checked = command("check", config, *told)
    assert checked.code in (0, 1), checked.err
    (report,) = checked.json["judges"]
    found = {one["name"]: one for one in report["properties"]}
    assert found["option_order"]["status"] == "fail"  # four of log odds go to whichever option stands first
    assert found["option_names"]["effect"] == 0
    assert found["negated"]["status"] == "not_checked"
    assert "negated changes a question of yes or no" in found["negated"]["reason"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("gpt-6-luna\n    model_options: {base_url", "gpt-6-luna\n    model_options: {base_ulr"), "cannot be made"),
        (
            ("openai:gpt-6-luna\n    model_options: {base_url", "jev\n    model_options: {organization"),
            "write openai:MODEL",
        ),
        (("{shape: pairwise, criteria", "{shape: pair, criteria"), "did you mean 'pairwise'"),
        (("criteria: help", "critera: help"), "did you mean 'criteria'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_exit_code_2(
    command: Command, tmp_path: Path, decision_server: Decide, changed: tuple[str, str], words: str
) -> None:
    config = write_config(tmp_path, decision_server(Planted()))
    config.write_text(config.read_text().replace(*changed))
    ran = command("run", config, "--out", tmp_path / "out")
    assert ran.code == 2
    assert words in " ".join(ran.err.split())
    assert KEY not in ran.err


@pytest.mark.slow
def test_a_run_is_reported_calibrated_and_certified_by_its_probabilities(
    command: Command, tmp_path: Path, decision_server: Decide
) -> None:
    config = write_config(tmp_path, decision_server(Planted(order_bias=0.5)))
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    kinds = ["kind", *("hard" if n % 2 else "easy" for n in range(len(lines) - 1))]
    (tmp_path / "pairs.csv").write_text("\n".join(f"{line},{kind}" for line, kind in zip(lines, kinds, strict=True)))
    ran = command("run", config, "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    log, page, card = tmp_path / "out" / "verdicts.jsonl", tmp_path / "page.html", tmp_path / "certificate.json"
    reported = command("report", tmp_path / "out", "--html", page, "--no-step-summary", "--json")
    assert reported.code == 0, reported.err
    (moved,) = reported.json["judges"][0]["criteria"][0]["probabilities"]["changes"]
    assert (moved["perturbation"], moved["n"]) == ("position_swap", 30)
    assert moved["change"]["value"] > 0.01
    assert "How often probabilities come true" in page.read_text()
    calibrated = command("calibrate", config, "--log", log, "--source", "human", "--by", "kind", "--json")
    assert calibrated.code == 0, calibrated.err
    bars = ("--agreement", 0.8, "--delta", 0.2, "--source", "human")
    certified = command("certify", log, "--config", config, "--score", "probability", *bars, "--out", card)
    assert certified.code == 0, certified.err or certified.out
    config.write_text(
        config.read_text().replace("preset: standard}", "preset: standard}\ncertificate: certificate.json")
    )
    again = command("run", config, "--out", tmp_path / "again", "--json")
    assert again.code == 0, again.err
    told = command("report", tmp_path / "again", "--no-step-summary", "--json").json["judges"][0]
    assert told["certificates"][0]["status"] == "valid"
