"""`judgeharness certify`, and what a certificate takes in `judgeharness plan`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.certified import gpt4_rows
from support.rows import sampled

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.certifying import Certificate
from judgeharness_integrations.analysis.usage import same_model
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]
SPLIT = ["A", "A", "A", "B"]
JUDGES = """
def good(case):
    return "PASS" if "good" in case.output else "FAIL"

def const(case):
    return "PASS"
"""


def rows(*, gold: bool = True, judge: str = "judge") -> list[VerdictRow]:
    """60 unanimous cases that are right, 20 split ones that are wrong half of the time."""
    sure = [row for n in range(60) for row in sampled("AAAA", case_id=f"s{n}", gold="A" if gold else None, judge=judge)]
    labels = ("A", "B")
    return sure + [
        row
        for n in range(20)
        for row in sampled(SPLIT, case_id=f"m{n}", gold=labels[n % 2] if gold else None, judge=judge)
    ]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    write_log(rows(), path)
    return path


def test_a_certificate_is_printed_and_saved(command: Command, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "certificate.json"
    ran = command("certify", "--source", "human", log, "--out", out)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        (
            "judge: 60 of 80 decisions need no second look: they agree with people at least 90 % of the time, with "
            "90 % confidence"
        ),
        "- agreement is no sign here that the judge tells anything: see the warning",
        f"next: judgeharness replay {log} --rule 'majority | median' --certificate {out}",
        "rule: majority | median",
        "rule chosen after the samples: exploratory, unless the run was planned with it",
        "no --config: nobody can tell which judge it holds for",
        "asked for: decisions that agree with people at least 90 % of the time, with 90 % confidence",
        "labels: log (human, 0 ties left out)",
        "verdict: certified from consistency 1.0 on: coverage 0.750 (60/80); 80 labelled of 80 cases",
        "  consistency >= 1.0: 60 cases, 0 of 60 labelled disagree, p 0.0018",
        "  consistency >= 0.75: 80 cases, 10 of 80 labelled disagree, p 0.83",
        f"  warning: {Certificate.load(out).selections[0].untold}",
        "it holds for cases like the labelled ones, which have to be a random sample of them",
        f"saved to {out}",
    ]
    assert Certificate.load(out).selections[0].threshold == 1.0


@pytest.mark.slow
def test_the_best_of_several_candidates_is_tested_at_its_share_of_delta(
    command: Command, log: Path, tmp_path: Path
) -> None:
    """60 right decisions have p .0018: enough alone and among 50, and not among 60, however they are counted."""
    out = tmp_path / "certificate.json"
    asked = ("certify", log, "--source", "human")
    assert command(*asked, "--candidates", 50, "--out", out).code == 0
    assert Certificate.load(out).candidates == 50
    ran = command(*asked, "--candidates", 60)
    assert ran.code == 1
    assert "one of 60 candidates on these labels: each is tested at a level of 0.1 / 60" in ran.out
    assert "until one is certified, they break the promise in up to 0.47 of studies, unless --candidates 60" in ran.out
    saved = json.loads(out.read_text())
    out.write_text(json.dumps({**saved, "candidates": 60}))
    with pytest.raises(ConfigError, match="do not bear out"):
        Certificate.load(out)
    counted = [command(*asked, "--json", *more).json["candidates"] for more in ((), ("--score", "margin"))]
    calibrated = command("calibrate", "--log", log, "--rule", "supermajority(0.9)", "--source", "human", "--json")
    assert (counted, calibrated.code, command(*asked, "--json").json["candidates"]) == ([1, 2], 0, 3)


def test_a_rule_by_kind_is_the_candidate_that_the_rule_for_its_labels_is(
    command: Command, log: Path, tmp_path: Path
) -> None:
    calibrate = ("calibrate", "--log", log, "--source", "human", "--json", "--rule")
    counted = [command(*calibrate, rule).json["candidates"] for rule in ("majority", "majority | median")]
    assert (counted, command("certify", log, "--source", "human", "--json").json["candidates"]) == ([1, 1], 1)
    other = command(*calibrate, "strict_majority | median").json["candidates"]
    assert (other, len((tmp_path / "candidates.jsonl").read_text().splitlines())) == (2, 2)


@pytest.mark.slow
def test_other_strata_and_clusters_are_further_candidates(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "strata.csv"
    columns = [{"kind": f"k{n % 2}", "sort": f"s{n % 4}", "thread": f"t{n}"} for n in range(80)]
    write_log((replace(row, attributes=columns[place // 4]) for place, row in enumerate(rows())), path)
    asked = ("certify", path, "--source", "human", "--json")
    looks = ((), ("--by", "kind"), ("--by", "sort"), ("--cluster", "thread"), ("--by", "kind"))
    assert [command(*asked, *more).json["candidates"] for more in looks] == [1, 2, 3, 4, 4]


def test_where_no_decision_is_wrong_a_refusal_does_not_say_that_some_are(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "right.csv"
    write_log([row for n in range(60) for row in sampled("AAAA", case_id=f"c{n}", gold="A")], path)
    ran = command("certify", path, "--source", "human", "--agreement", 0.999)
    assert ran.code == 1
    assert "60 labelled decisions, at least 2302 are needed to certify 0.999 at all" in ran.out
    assert "it holds for cases" not in ran.out
    assert "wrong too often" not in ran.out
    assert "would do in 80 % of studies" in ran.out
    never = command("certify", path, "--source", "human", "--agreement", 0.99999)
    assert "no number of labels up to 20,000 would do\n" in never.out


@pytest.mark.slow
def test_a_refusal_is_exit_code_1_and_not_saved(command: Command, log: Path, tmp_path: Path) -> None:
    ran = command("certify", "--source", "human", log, "--agreement", 0.97, "--out", tmp_path / "none.json")
    assert ran.code == 1
    assert "verdict: refused: of the 80 surest labelled decisions that were tested first 10 disagree" in ran.out
    assert "would do in 80 % of studies" in ran.out
    assert not (tmp_path / "none.json").exists()


def test_labels_of_a_file_and_json(command: Command, tmp_path: Path) -> None:
    write_log(rows(gold=False), tmp_path / "bare.csv")
    labels = [*(f"s{n},A" for n in range(45)), *(f"m{n},{'AB'[n % 2]}" for n in range(15))]
    (tmp_path / "gold.csv").write_text("\n".join(["case_id,gold", *labels]))
    ran = command("certify", tmp_path / "bare.csv", "--labels", tmp_path / "gold.csv", "--source", "model:o3", "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert (document["schema"], document["source"], document["name"]) == (
        "judgeharness.certificate/1",
        "model:o3",
        "gold",
    )
    assert (document["selections"][0]["labelled"], document["selections"][0]["cases"]) == (60, 80)
    assert "60 of 80 cases of the log are labelled" in ran.err
    assert "give the labels as --labels FILE" in command("certify", "--source", "human", tmp_path / "bare.csv").err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--agreement", 90), "agreement must lie between 0 and 1, not 90."),
        (("--score", "hunch"), "a score is consistency, margin, probability or column:NAME, not 'hunch'."),
        (("--rule", "majority", "--config", "x.json"), "give --rule or --config, not both: the rule is the"),
        (("--by", "subset"), "unknown column 'subset'"),
        (("--judge", "other"), "unknown judge 'other'"),
    ],
)
def test_wrong_usage_is_a_sentence(command: Command, log: Path, options: tuple[Any, ...], said: str) -> None:
    ran = command("certify", "--source", "human", log, *options)
    assert (ran.code, said in ran.err) == (2, True), ran.err


@pytest.fixture
def run(command: Command, folder: Path) -> Callable[..., Path]:
    """Runs a configuration over 40 labelled cases and returns it; its log is run/verdicts.jsonl."""
    (folder / "cli_judges.py").write_text(JUDGES)
    lines = [f"c{n},q{n},{'good' if n % 2 else 'bad'},{'PASS' if n % 2 else 'FAIL'}" for n in range(40)]
    (folder / "cases.csv").write_text("\n".join(["case_id,input,output,gold", *lines]))

    def write(name: str = "run", judge: dict[str, Any] | None = None, **harness: Any) -> Path:
        design = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority"} | harness
        config = {
            "judges": [{"name": "good", "callable": "cli_judges:good", "model": "gpt-4o"} | (judge or {})],
            "cases": "cases.csv",
            "harness": design,
            "keep": "text",
        }
        (folder / f"{name}.json").write_text(json.dumps(config))
        return folder / f"{name}.json"

    assert command("run", write(), "--out", folder / "run", "--yes").code == 0
    return write


@pytest.mark.slow
def test_with_the_configuration_it_holds_for_the_judge(command: Command, run: Any, folder: Path) -> None:
    out, log = folder / "certificate.json", folder / "run" / "verdicts.jsonl"
    ran = command("certify", "--source", "human", log, "--config", folder / "run.json", "--out", out)
    assert ran.code == 0
    first, put, following, rule, promise, *_ = ran.out.splitlines()
    assert first.startswith("good: 40 of 40 decisions need no second look: they agree with people ")
    assert put == f"- put `certificate: certificate.json` into {folder / 'run.json'}: later runs stand on it"
    assert (following, rule) == (f"next: judgeharness run {folder / 'run.json'}", "rule: majority")
    assert promise.startswith("asked for: decisions that agree with people")  # nothing is exploratory
    results = [json.loads(line) for line in (folder / "run" / "results.jsonl").read_text().splitlines()]
    assert Certificate.load(out).fingerprint == results[0]["fingerprint"]
    other = run("other", repetitions=4)
    ran = command("certify", "--source", "human", log, "--config", other)
    assert (ran.code, f"the log was not run with {other}: repetitions 3 before, 4 now." in ran.err) == (2, True)
    curtailed = run("early", curtail=True)
    assert (
        "early stopping False before, True now"
        in command("certify", "--source", "human", log, "--config", curtailed).err
    )


@pytest.mark.slow
def test_a_judge_that_was_not_asked_gets_no_certificate(command: Command, run: Any, folder: Path) -> None:
    out, log = folder / "certificate.json", folder / "run" / "verdicts.jsonl"
    const = run("const", {"callable": "cli_judges:const"})
    for given in (log, folder / "run"):
        ran = command("certify", "--source", "human", given, "--config", const, "--out", out)
        assert (ran.code, f"the log was not run with {const}: the judge's fingerprint was " in ran.err) == (2, True)
    named = run("named", {"name": "other"})
    assert "unknown judge 'good'" in command("certify", "--source", "human", log, "--config", named).err
    alone = folder / "alone.jsonl"
    alone.write_bytes(log.read_bytes())
    dear = run("dear", {"model": "gpt-4o-mini"})
    ran = command("certify", "--source", "human", alone, "--config", dear, "--out", out)
    assert (ran.code, f"was not run with {dear}: model gpt-4o before, gpt-4o-mini now." in ran.err) == (2, True)
    assert not out.exists()
    for same in ({}, {"model": "openai:gpt-4o"}, {"model": "gpt-4o-2024-08-06"}):
        assert command("certify", "--source", "human", alone, "--config", run("same", same)).code == 0


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("openai:gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o-2024-08-06", "openai/gpt-4o", True),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
        ("gpt-4o", "gpt-4o-mini", False),
    ],
)
def test_a_date_and_a_provider_are_no_other_model(asked: str, answered: str, same: bool) -> None:  # noqa: FBT001
    assert same_model(asked, answered) is same


def pilot(tmp_path: Path, **changes: Any) -> Path:
    write_log([replace(row, **changes) for row in gpt4_rows(3)], tmp_path / "pilot.csv")
    return tmp_path / "pilot.csv"


@pytest.mark.slow
def test_a_plan_prices_a_certificate(command: Command, tmp_path: Path) -> None:
    path = pilot(tmp_path)
    ran = command("plan", "--pilot", path, "--certify", 0.9)
    assert ran.code == 0
    assert "certificate that decisions agree with labels 90 % of the time, with 90 % confidence" in ran.out
    assert "fewest calls: " in ran.out
    document = json.loads(command("plan", "--pilot", path, "--certify", 0.9, "--json").out)
    prices = {one["votes"]: one for one in document["certificate"]["by_votes"]}
    assert document["certificate"]["labels"] == 419
    assert prices[2]["labels"] is None
    assert prices[30]["labels"] < prices[12]["labels"] < 500
    hopeless = command("plan", "--pilot", path, "--certify", 0.9999, "--delta", 0.01)
    assert "no number of labels up to 20,000 does with up to 60 votes a case" in hopeless.out


@pytest.mark.slow
def test_a_plan_names_the_strata_that_no_number_of_labels_certifies(command: Command, tmp_path: Path) -> None:
    votes = {
        "sure": ["AAAAAA"] * 40 + ["AAAAAB"] * 40 + ["ABBBBB"] * 2,
        "toss": ["AAAAAA"] * 10 + ["BBBBBB"] * 10 + ["AABBBB"] * 20 + ["AAAABB"] * 20,
    }
    rows = [
        row
        for kind, said in votes.items()
        for n, one in enumerate(said)
        for row in sampled(one, case_id=f"{kind}{n}", gold="A", attributes={"kind": kind})
    ]
    path = write_log(rows, tmp_path / "pilot.csv")
    ran = command("plan", "--pilot", path, "--certify", 0.9, "--by", "kind")
    told = "no number of labels up to 20,000 does for toss of kind with up to 60 votes a case: the other strata can be"
    assert told in " ".join(ran.out.split())
    document = command("plan", "--pilot", path, "--certify", 0.9, "--by", "kind", "--json").json["certificate"]
    assert (document["strata"], document["beyond"]) == (["sure", "toss"], ["toss"])


def labels_for(command: Command, path: Path, *options: object) -> int:
    """Return how many labels the plan says for 12 votes."""
    priced = command("plan", "--pilot", path, "--certify", 0.9, "--json", *options).json["certificate"]["by_votes"]
    return next(one["labels"] for one in priced if one["votes"] == 12)


@pytest.mark.slow
def test_a_plan_of_a_certificate_knows_the_assurance(command: Command, tmp_path: Path) -> None:
    path = pilot(tmp_path)
    assert labels_for(command, path, "--assurance", 0.95) > labels_for(command, path)
    assert "more, for 95 %" in command("plan", "--pilot", path, "--certify", 0.9, "--assurance", 0.95).out
    expected = command("plan", "--pilot", path, "--certify", 0.9, "--expected").out
    assert "more, for 80 %" in expected
    assert "90 % confidence, the pilot's votes taken for certain:" in expected


@pytest.mark.slow
def test_a_plan_says_where_the_labels_there_are_do_though_more_are_named(command: Command, tmp_path: Path) -> None:
    votes = ["AAAAAA"] * 40 + ["AAAAAB"] * 40 + ["AAAABB"] * 16 + ["AAABBB"] * 4 + ["ABBBBB"] * 4
    rows = [row for n, said in enumerate(votes) for row in sampled(said, case_id=f"c{n}", gold="A")]
    ran = command("plan", "--pilot", write_log(rows, tmp_path / "pilot.csv"), "--certify", 0.9)
    assert "votes a case the 104 labels there are do as well, but not every larger number" in ran.out


@pytest.mark.slow
def test_a_plan_of_a_certificate_answers_what_was_asked_first_and_no_more(command: Command, tmp_path: Path) -> None:
    asked = ("plan", "--pilot", pilot(tmp_path), "--certify", 0.9)
    lines = command(*asked).out.splitlines()
    assert lines[0].startswith("certificate that decisions agree with labels 90 % of the time")
    told = "\n".join(lines)
    assert "\npilot: " in told
    assert not any(word in told for word in ("wanted: ", "the fewest cases", "gates: ", "where the variance is"))
    both = command(*asked, "--width", 0.2).out
    assert 0 == both.index("certificate that ") < both.index("wanted: 95 % interval of decisions")


@pytest.mark.slow
def test_a_plan_of_a_certificate_knows_the_candidates(command: Command, tmp_path: Path) -> None:
    path = pilot(tmp_path)
    assert labels_for(command, path, "--candidates", 20) == labels_for(command, path, "--delta", 0.1 / 20)
    ran = command("plan", "--pilot", path, "--certify", 0.9, "--candidates", 20)
    assert "the chosen one of 20 candidates, each tested at a level of 0.1 / 20" in ran.out
    refused = command("plan", "--pilot", path, "--candidates", 20)
    assert (refused.code, "give --certify AGREEMENT, too" in refused.err) == (2, True)
    none = command("plan", "--pilot", path, "--certify", 0.9, "--candidates", 0)
    assert (none.code, "0 candidates: give how many were tried" in none.err) == (2, True)


@pytest.mark.slow
def test_a_plan_prices_no_certificate_of_another_rule(command: Command, tmp_path: Path) -> None:
    path = pilot(tmp_path)
    assert command("plan", "--pilot", path, "--certify", 0.9, "--rule", "majority").code == 0
    refused = command("plan", "--pilot", path, "--certify", 0.9, "--rule", "supermajority(2/3)")
    sentence = "--certify prices decisions of the rule majority, not of supermajority(2/3): give --rule majority"
    assert (refused.code, sentence in refused.err) == (2, True)


@pytest.mark.slow
def test_a_plan_needs_labelled_votes_for_that(command: Command, tmp_path: Path) -> None:
    assert "--certify needs votes with gold labels: give --pilot LOG." in command("plan", "--certify", 0.9).err
    ran = command("plan", "--pilot", pilot(tmp_path, gold=None), "--certify", 0.9)
    assert (ran.code, "needs a pilot with gold labels and several votes a case" in ran.err) == (2, True)
    ran = command("plan", "--pilot", pilot(tmp_path), "--certify", 1.5)
    assert (ran.code, "agreement must lie between 0 and 1" in ran.err) == (2, True)


@pytest.mark.slow
def test_a_plan_of_clustered_labels_prices_no_independent_ones(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "clusters.csv"
    rows = gpt4_rows(3)
    number = {case: place for place, case in enumerate(dict.fromkeys(row.case_id for row in rows))}
    write_log([replace(row, attributes={"cluster": f"k{number[row.case_id] // 8}"}) for row in rows], path)
    ran = command("plan", "--pilot", path, "--certify", 0.9)
    assert (ran.code, "419 labelled cases of the pilot are in 53 clusters" in ran.err) == (2, True)


def stratified_pilot(tmp_path: Path) -> Path:
    """Six votes about 419 cases, of which the first quarter are hard ones by name."""
    rows = gpt4_rows(3)
    number = {case: place for place, case in enumerate(dict.fromkeys(row.case_id for row in rows))}
    kinds = {case: "rare" if place < 105 else "usual" for case, place in number.items()}
    write_log([replace(row, attributes={"kind": kinds[row.case_id]}) for row in rows], tmp_path / "strata.csv")
    return tmp_path / "strata.csv"


@pytest.mark.slow
def test_a_plan_of_a_certificate_by_strata_prices_each_at_its_part_of_labels(command: Command, tmp_path: Path) -> None:
    path = stratified_pilot(tmp_path)
    found = command("plan", "--pilot", path, "--certify", 0.8, "--by", "kind", "--json").json["certificate"]
    assert (found["by"], found["strata"], found["labels"]) == ("kind", ["rare", "usual"], 419)
    alone = command("plan", "--pilot", path, "--certify", 0.8, "--json").json["certificate"]
    of_strata, of_all = ({one["votes"]: one["labels"] for one in plan["by_votes"]} for plan in (found, alone))
    assert of_strata[30] > 2 * of_all[30]
    assert (alone["by"], alone["strata"]) == (None, [])


@pytest.mark.slow
def test_a_plan_of_a_certificate_by_strata_says_what_its_numbers_are_for(command: Command, tmp_path: Path) -> None:
    ran = command("plan", "--pilot", stratified_pilot(tmp_path), "--certify", 0.8, "--by", "kind")
    assert "for each of 2 strata of kind, by its part of the pilot's labels and at an equal share of delta" in ran.out


@pytest.mark.slow
def test_a_plan_by_strata_that_tell_nothing_is_refused(command: Command, tmp_path: Path) -> None:
    path = stratified_pilot(tmp_path)
    of_one_case = replace(gpt4_rows(1)[0], case_id="alone", attributes={"kind": "odd"})
    write_log([*read_log(path), of_one_case], tmp_path / "odd.csv")
    ran = command("plan", "--pilot", tmp_path / "odd.csv", "--certify", 0.8, "--by", "kind")
    assert (ran.code, "in each stratum of kind: give such a --pilot LOG, or plan without --by." in ran.err) == (2, True)


@pytest.mark.slow
def test_a_plan_by_a_column_without_labels_is_refused(command: Command, tmp_path: Path) -> None:
    rows = [replace(row, gold=None, attributes={"kind": "odd"}) for row in gpt4_rows(3)]
    write_log(rows, tmp_path / "unlabelled.csv")
    ran = command("plan", "--pilot", tmp_path / "unlabelled.csv", "--certify", 0.8, "--by", "kind")
    assert (ran.code, "--certify needs a pilot with gold labels" in ran.err) == (2, True)


def test_a_plan_by_strata_needs_a_certificate_and_a_column(command: Command, tmp_path: Path) -> None:
    path = write_log(gpt4_rows(3)[:90], tmp_path / "pilot.csv")
    without = command("plan", "--pilot", path, "--by", "kind")
    assert (without.code, "give --certify AGREEMENT, too" in without.err) == (2, True)
    unknown = command("plan", "--pilot", path, "--certify", 0.9, "--by", "knid")
    assert (unknown.code, "unknown column 'knid'" in unknown.err) == (2, True)


def test_the_probability_of_a_decision_is_a_score(command: Command, tmp_path: Path) -> None:
    shares = [0.97 if n % 10 else 0.6 for n in range(200)]
    rows = [
        VerdictRow(
            case_id=f"c{n}",
            verdict="PASS",
            probabilities={"PASS": share, "FAIL": 1 - share},
            gold="FAIL" if n % 20 == 0 or n in (33, 66) else "PASS",
        )
        for n, share in enumerate(shares)
    ]
    path = tmp_path / "probable.jsonl"
    write_log(rows, path)
    out = tmp_path / "certificate.json"
    ran = command("certify", "--source", "human", path, "--score", "probability", "--out", out)
    assert ran.code == 0, ran.err
    assert "certified from probability 0." in ran.out
    assert "fitted on 100 labels that set no threshold" in ran.out
    replayed = command("replay", path, "--rule", "majority", "--certificate", out, "--json")
    assert replayed.code == 0, replayed.err
    assert replayed.json["judges"][0]["decided"] < 200
