"""`judgeharness audit --assign` and `--status`: who labels what, how far they are, and how noisy pairs are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator
from support.benchmark_results import make_benchmark, verification

from judgeharness_integrations.audit.labels import label_log, read_assignment, read_labels
from judgeharness_integrations.reporting.schemas import schema

if TYPE_CHECKING:
    from pathlib import Path

    from support.audit_command import Command

    from judgeharness_integrations.benchmark.folder import BenchmarkFolder


def test_pairs_are_shared_out(command: Command, benchmark: BenchmarkFolder) -> None:
    asked = ("--assign", "anna, ben", "--n", 10, "--overlap", 0.2, "--suspicious", 4)
    ran = command("audit", benchmark.path, *asked)
    assert (ran.code, ran.err) == (0, "")
    assert "10 of 22 accepted pairs, drawn uniformly with seed 0; 2 of them go to every annotator" in ran.out
    assert "4 further pairs look suspicious; they are in no rate" in ran.out
    assert re.search(r"anna +6 +2 +2 +8\n", ran.out)
    made = read_assignment(benchmark.path)
    assert made is not None
    assert {*made.bundles} == {"anna", "ben"}
    accepted = {pair.pair_id for pair in benchmark.pairs() if pair.state == "accepted"}
    assert {*made.uniform, *made.suspicious} <= accepted
    again = command("audit", benchmark.path, *asked, "--json")
    assert again.json == made.to_dict()


def test_an_accepted_benchmark_smaller_than_the_sample_is_all_in_it(command: Command, tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "bench", n=5)
    ran = command("audit", folder.path, "--assign", "anna")
    assert "5 of 5 accepted pairs" in ran.out
    assert "0 further pairs look suspicious (20 were wanted): no judge was asked yet" in ran.out


def test_pairs_that_nobody_verified_can_be_audited(command: Command, tmp_path: Path) -> None:
    unread = dict.fromkeys(range(4), verification("form", unread=True))
    folder = make_benchmark(tmp_path / "bench", n=4, failed=unread)
    assert "3 of 4 unverified pairs" in command("audit", folder.path, "--assign", "anna", "--n", 3).out


def test_labels_are_not_assigned_over(command: Command, benchmark: BenchmarkFolder) -> None:
    command("audit", benchmark.path, "--assign", "anna", "--n", 3)
    command("audit", benchmark.path, "--assign", "anna", "--n", 4)  # nobody has labelled
    label_log(benchmark.path, "anna").append("pair-00001", "noise")
    ran = command("audit", benchmark.path, "--assign", "ben")
    assert ran.code == 2
    assert "holds labels: give --overwrite to assign anew; every label stays." in ran.err
    assert command("audit", benchmark.path, "--assign", "ben", "--overwrite").code == 0
    assert read_labels(benchmark.path)["anna"]["pair-00001"].label == "noise"


def test_the_status_before_anybody_labelled(command: Command, benchmark: BenchmarkFolder) -> None:
    ran = command("audit", benchmark.path, "--status")
    assert ran.code == 0
    assert "nobody labelled anything and nothing is assigned" in ran.out
    assert "no noise rate: it needs a uniform sample, which --assign draws" in ran.out
    command("audit", benchmark.path, "--assign", "anna", "--n", 4, "--suspicious", 0)
    ran = command("audit", benchmark.path, "--status")
    assert "noise not known: no pair of the sample is labelled" in ran.out
    assert "uniform sample, 4 of 22 pairs: 0 clean, 0 ambiguous, 0 noise, 4 not labelled yet" in ran.out


def label_all(benchmark: BenchmarkFolder) -> None:
    """Label everything: anna finds the first of the sample to be noise, ben finds everything clean."""
    made = read_assignment(benchmark.path)
    assert made is not None
    for name in ("anna", "ben"):
        log = label_log(benchmark.path, name)
        for pair in made.bundles[name]:
            noise = name == "anna" and pair in made.shared
            log.append(pair, "noise" if noise else "clean", "x")


def test_the_status_tells_how_far_and_how_noisy(command: Command, benchmark: BenchmarkFolder) -> None:
    command("audit", benchmark.path, "--assign", "anna,ben", "--n", 10, "--overlap", 0.2, "--suspicious", 4)
    label_all(benchmark)
    label_log(benchmark.path, "cleo").append("pair-00004", "noise")
    ran = command("audit", benchmark.path, "--status")
    assert re.search(r"anna +8 +8 +6 +0 +2 +0\n", ran.out)
    assert re.search(r"cleo +- +- +0 +0 +1 +1\n", ran.out)
    assert re.search(r"anna +ben +2 +0\.0 +-\n", ran.out)
    assert (
        "8 clean, 2 ambiguous (2 evenly split), 0 noise, 0 not labelled yet; several annotators by majority" in ran.out
    )
    assert "noise 0.0 % [0.0, 27.8] of 10 labelled (95 %, Wilson, over pairs); ambiguous 20.0 %" in ran.out
    assert "suspicious slice, 4 pairs chosen for what judges said, in no rate: 4 clean" in ran.out
    assert "labelled without being assigned, in no rate: 0 clean, 0 ambiguous, 1 noise" in ran.out


def test_the_status_counts_labels_of_others_and_pairs_rejected_since_apart(
    command: Command, benchmark: BenchmarkFolder
) -> None:
    command("audit", benchmark.path, "--assign", "anna,ben", "--n", 10, "--overlap", 0.2, "--suspicious", 4)
    label_all(benchmark)
    made = read_assignment(benchmark.path)
    assert made is not None
    before = command("audit", benchmark.path, "--status", "--json").json
    (alone, *_) = (pair for pair in made.bundles["anna"] if pair not in {*made.shared, *made.suspicious})
    label_log(benchmark.path, "ben").append(alone, "noise", "I looked at it of my own")
    pairs = [
        pair.model_copy(update={"verification": verification("adherence")}) if pair.pair_id == alone else pair
        for pair in benchmark.pairs()
    ]
    benchmark.write_pairs(pairs)
    after = command("audit", benchmark.path, "--status", "--json").json
    assert (after["noise_rate"], after["agreement"]) == (before["noise_rate"], before["agreement"])
    assert (before["uniform"]["rejected"], after["uniform"]["rejected"]) == (0, 1)
    assert (before["others"]["pairs"], after["others"]["pairs"]) == (0, 1)
    told = command("audit", benchmark.path, "--status").out
    assert "verification rejected 1 of the sample since it was drawn; they stay in it\n" in told
    assert "labelled without being assigned, in no rate: 0 clean, 0 ambiguous, 1 noise\n" in told


def test_a_rate_of_a_part_says_so(command: Command, benchmark: BenchmarkFolder) -> None:
    command("audit", benchmark.path, "--assign", "anna", "--n", 10)
    made = read_assignment(benchmark.path)
    assert made is not None
    label_log(benchmark.path, "anna").append(made.uniform[0], "noise")
    ran = command("audit", benchmark.path, "--status")
    assert "noise 100.0 % [20.7, 100.0] of 1 labelled" in ran.out
    assert "which stand for all if they were labelled in the order assigned" in ran.out


def test_the_status_as_json(command: Command, benchmark: BenchmarkFolder) -> None:
    check = Draft202012Validator(schema("judgeharness.audit_status/1"))
    empty = command("audit", benchmark.path, "--status", "--json").json
    check.validate(empty)
    assert empty["annotators"] == []
    command("audit", benchmark.path, "--assign", "anna,ben", "--n", 10, "--overlap", 0.2)
    label_all(benchmark)
    document = command("audit", benchmark.path, "--status", "--json").json
    check.validate(document)
    assert document["assignment"] == {"seed": 0, "pool": 22, "overlap": 0.2}
    assert [one["annotator"] for one in document["annotators"]] == ["anna", "ben"]
    assert document["noise_rate"]["n"] == document["uniform"]["labelled"] == 10
    assert document["agreement"][0]["items"] == 2
