"""The whole benchmark against a loopback server that plays generator, verifier and three judges of planted quality."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.audited_pairs import label_assigned
from support.benchmark_command import BenchmarkCommand, written
from support.benchmark_roles import JUDGES, Roles, offline
from support.extras import needs
from support.openai_server import OpenAIServer

from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair

pytestmark = [pytest.mark.slow, pytest.mark.untraced, needs("langchain_openai")]

N = 60


@pytest.fixture(scope="module")
def roles() -> Roles:
    return Roles()


@pytest.fixture(scope="module")
def server(roles: Roles) -> Iterator[OpenAIServer]:
    with OpenAIServer(roles) as running:
        yield running


@pytest.fixture(scope="module")
def benchmark(server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> BenchmarkCommand:
    """The benchmark of 60 pairs, generated, verified and judged."""
    command = BenchmarkCommand(tmp_path_factory.mktemp("pipeline"), server, n=N)
    command.run(*command.generate("--max-concurrency", 16))
    command.run(*command.judge("--mode", "both"))
    return command


def pairs(benchmark: BenchmarkCommand) -> list[Pair]:
    return BenchmarkFolder(benchmark.out).pairs()


def planted(pair: Pair, benchmark: BenchmarkCommand) -> str | None:
    """Return the defect the generator gave a pair."""
    folder = BenchmarkFolder(benchmark.out)
    chunks = {chunk.chunk_id: chunk.text for document in folder.documents() for chunk in document.chunks}
    shown = "\n\n".join(f"[{name}]\n{chunks[name]}" for name in pair.conditions.chunks)
    seed = offline("offline_writing").seed_of(pair.conditions.to_dict(), shown)
    return offline("offline_models").some_defects(seed)


def test_exactly_the_pairs_with_a_planted_defect_are_rejected(benchmark: BenchmarkCommand) -> None:
    layers = {
        "malformed JSON": "form",
        "wrong turn count": "form",
        "incoherent plan": "coherence",
        "ungrounded claim": "grounding",
    }
    found = pairs(benchmark)
    defects = {pair.pair_id: planted(pair, benchmark) for pair in found}
    assert len(found) == N
    assert len({defect for defect in defects.values() if defect}) >= 3
    for pair in found:
        failed, defect = pair.verification.failed, defects[pair.pair_id]
        assert pair.state == ("accepted" if defect is None else "rejected"), (defect, pair.verification)
        assert (failed.layer if failed else None) == (layers.get(defect, "adherence") if defect else None)


def test_the_planted_order_of_judges_comes_out_of_rank(benchmark: BenchmarkCommand) -> None:
    for mode in ("pairwise", "pointwise"):
        ranking = benchmark.run("rank", benchmark.out, "--mode", mode, "--json").json
        assert [one["judge"] for one in ranking["judges"]] == [f"openai:{name}" for name in JUDGES]
        accuracies = [one["right_of_labelled"] for one in ranking["judges"]]
        assert accuracies == sorted(accuracies, reverse=True)


def test_every_judge_is_asked_about_every_accepted_pair_in_both_orders(benchmark: BenchmarkCommand) -> None:
    accepted = {pair.pair_id for pair in pairs(benchmark) if pair.state == "accepted"}
    with BenchmarkFolder(benchmark.out).log() as log:
        rows = list(log.rows(run="pairwise"))
    assert {row.case_id for row in rows} == accepted
    asked = Counter((row.judge, row.criterion) for row in rows)
    assert set(asked.values()) == {2 * len(accepted)}
    assert len(asked) == len(JUDGES) * 3
    better = {pair.pair_id: pair.conditions.better for pair in pairs(benchmark)}
    assert {(row.case_id, row.gold) for row in rows if row.criterion == "verdict"} == {
        (name, better[name]) for name in accepted
    }


def test_what_is_done_is_not_asked_again(benchmark: BenchmarkCommand, server: OpenAIServer) -> None:
    before, calls = written(benchmark.out), server.calls
    benchmark.run(*benchmark.generate())
    benchmark.run(*benchmark.judge("--mode", "both"))
    assert server.calls == calls
    assert written(benchmark.out) == before


def test_another_bar_for_grounding_asks_nobody(benchmark: BenchmarkCommand, server: OpenAIServer) -> None:
    before, calls = written(benchmark.out), server.calls
    models = ("--verifier", "openai:verifier", "--models", benchmark.folder / "models.yaml")
    benchmark.run("verify", benchmark.out, *models, "--min-grounded", 0.5)
    assert server.calls == calls
    rejected = {pair.pair_id for pair in pairs(benchmark) if pair.state == "rejected"}
    ungrounded = {pair.pair_id for pair in pairs(benchmark) if planted(pair, benchmark) == "ungrounded claim"}
    assert ungrounded
    assert not rejected & ungrounded
    benchmark.run("verify", benchmark.out, *models, "--min-grounded", 1)
    assert server.calls == calls
    assert written(benchmark.out)["pairs.jsonl"] == before["pairs.jsonl"]


def test_stats_show_curate_export_and_sample(benchmark: BenchmarkCommand, tmp_path: Path) -> None:
    accepted = [pair for pair in pairs(benchmark) if pair.state == "accepted"]
    stats = benchmark.run("stats", benchmark.out, "--json").json
    assert stats["schema"] == "judgeharness.benchmark_stats/1"
    printed = benchmark.run("stats", benchmark.out).out
    assert f"{len(accepted)} of {N} planned pairs accepted" in printed
    one = accepted[0]
    shown = benchmark.run("show", benchmark.out, one.pair_id, "--full").out
    assert f"turn {one.conditions.flawed_round}" in shown
    assert all(judge in shown for judge in JUDGES)
    assert one.conditions.failure_type in shown
    benchmark.run("curate", benchmark.out)
    curated = (benchmark.out / "curated.jsonl").read_text(encoding="utf-8").splitlines()
    kept = {json.loads(line)["conditions"]["pair_id"] for line in curated}
    assert kept < {pair.pair_id for pair in accepted}
    benchmark.run("export", benchmark.out, "--out", tmp_path / "exported")
    assert json.loads((tmp_path / "exported" / "export.json").read_text(encoding="utf-8"))
    benchmark.run("sample", benchmark.out, "--n", 20, "--by", "domain,failure_type")
    assert len(json.loads((benchmark.out / "sample.json").read_text(encoding="utf-8"))["pairs"]) == 20


def test_labels_of_people_feed_curate_and_calibrate(benchmark: BenchmarkCommand, tmp_path: Path) -> None:
    copy = tmp_path / "audited"
    shutil.copytree(benchmark.out, copy)
    benchmark.call("audit", copy, "--assign", "anna,ben", "--n", 30, "--overlap", 0.2, "--suspicious", 6)
    said = label_assigned(copy)
    status = benchmark.call("audit", copy, "--status", "--json").json
    assert [one["done"] for one in status["annotators"]] == [len(bundle) for bundle in said.values()]
    by_pair = {
        pair_id: {bundle.get(pair_id) for bundle in said.values()} - {None}
        for pair_id in {**said["anna"], **said["ben"]}
    }
    noise = {pair_id for pair_id, labels in by_pair.items() if labels == {"noise"}}
    clean = {pair_id for pair_id, labels in by_pair.items() if labels == {"clean"}}
    assert noise
    benchmark.run("curate", copy)
    curated = (copy / "curated.jsonl").read_text(encoding="utf-8").splitlines()
    assert not noise & {json.loads(line)["conditions"]["pair_id"] for line in curated}
    benchmark.run("export", copy, "--out", tmp_path / "exported")
    cases = tmp_path / "exported" / "held_out_cases.jsonl"
    assert {json.loads(line)["case_id"] for line in cases.read_text(encoding="utf-8").splitlines()} == clean
    judge = ("--judge", f"openai:{JUDGES[0]}")
    pairwise = tmp_path / "pairwise.jsonl"
    benchmark.call("log", "export", "--log", copy / "verdicts.sqlite", "--run", "pairwise", "--out", pairwise)
    asked = ("--log", pairwise, "--rule", "swap_consensus", "--labels", cases)
    measured = benchmark.call("calibrate", "--source", "human", *asked, *judge, "--json").json
    assert measured["criteria"]["verdict"]["n"] == len(clean)


def test_a_fraction_asks_as_many_cells(benchmark: BenchmarkCommand, server: OpenAIServer) -> None:
    accepted = sum(pair.state == "accepted" for pair in pairs(benchmark))
    command = BenchmarkCommand(benchmark.folder, server, name="fraction", n=N)
    command.run(*command.generate("--max-concurrency", 16))
    before = server.calls
    printed = command.run(*command.judge("--fraction", 0.4)).out
    assert server.calls - before == len(JUDGES) * 2 * round(0.4 * accepted)
    assert "saves" in printed


def test_no_key_and_no_prompt_is_printed_or_kept(benchmark: BenchmarkCommand) -> None:
    for path in benchmark.out.rglob("*"):
        if path.is_file():
            assert b"sk-loopback" not in path.read_bytes()


def test_the_same_answers_make_the_same_bytes_at_any_concurrency(tmp_path: Path) -> None:
    roles = Roles(delay=lambda digest: int(digest[:2], 16) / 256 * 0.02)
    made = []
    with OpenAIServer(roles) as server:
        for concurrency in (1, 4, 16):
            command = BenchmarkCommand(tmp_path, server, name=f"at-{concurrency}", n=16)
            command.run(*command.generate("--max-concurrency", concurrency))
            command.run(*command.judge("--max-concurrency", concurrency, "--fraction", 0.8))
            command.run("curate", command.out)
            command.run("export", command.out, "--out", command.out / "exported")
            made.append(written(command.out))
        assert server.in_flight_max > 4
    for other in made[1:]:
        assert other.keys() == made[0].keys()
        for name, content in made[0].items():
            assert content == other[name], name
    needed = {"benchmark.json", "documents.jsonl", "taxonomy.json", "pairs.jsonl", "judgments.jsonl", "curated.jsonl"}
    assert needed <= made[0].keys()
