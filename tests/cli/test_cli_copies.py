"""Cases that ask what another one asks are no independent evidence: they are one cluster, and every command says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import CalibrationSet, JudgeHarness, PairwiseCase
from judgeharness_integrations.analysis.aggregation.grouping import (
    Clusters,
    copied_cases,
    copies_together,
    without_copies,
)
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.calibration.drift import drift
from judgeharness_integrations.analysis.calibration.driftanswer import anchor_cases
from judgeharness_integrations.judging.execution.preparing import CaseFacts
from judgeharness_integrations.verdictlog import VerdictRow, read_log, write_log

Command = Callable[..., Any]
JUDGE = "def grade(case):\n    return 'PASS' if 'good' in case.output else 'FAIL'\n"
SENTENCE = (
    "30 of 40 cases ask word for word what another case does, and count as one cluster with it: intervals and tests "
    "are over 10 clusters"
)
LEFT_OUT = "30 of 40 cases ask word for word what another case does, and are left out: a label of a copy is no further"


@pytest.fixture
def suite(folder: Path) -> Callable[[str], Path]:
    """Forty cases of ten questions, under a configuration; `column` holds the question."""
    (folder / "house.py").write_text(JUDGE)

    def write(column: str = "kind") -> Path:
        kinds = [("good", "PASS") if n % 2 else ("bad", "FAIL") for n in range(40)]
        lines = [f"c{n},question {n % 10},{kind},{gold},k{n % 10}" for n, (kind, gold) in enumerate(kinds)]
        (folder / "cases.csv").write_text("\n".join([f"case_id,input,output,gold,{column}", *lines]))
        config = {
            "judges": [{"name": "grade", "callable": "house:grade", "model": "gpt-4o"}],
            "cases": "cases.csv",
            "harness": {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"},
        }
        (folder / "run.json").write_text(json.dumps(config))
        return folder / "run.json"

    return write


def told_by(command: Command, folder: Path, config: Path) -> dict[str, bool]:
    """Which command says it."""
    log = folder / "run" / "verdicts.jsonl"
    asked = {
        "run": ("run", config, "--out", folder / "run", "--yes"),
        "report": ("report", folder / "run"),
        "replay": ("replay", folder / "run", "--rule", "majority"),
        "compare": ("compare", folder / "run", folder / "run"),
        "certify": ("certify", log, "--source", "human"),
        "calibrate --log": ("calibrate", "--log", log, "--rule", "majority", "--source", "human"),
        "corrected-rate": ("corrected-rate", log, "--rule", "majority", "--labels-are", "random"),
        "calibrate": ("calibrate", config, "--labels", folder / "cases.csv", "--source", "human", "--out",
                      folder / "cal.json", "--yes"),
    }  # fmt: skip
    ran = {name: command(*given) for name, given in asked.items()}
    return {
        name: (LEFT_OUT if name == "certify" else SENTENCE) in " ".join(f"{one.out} {one.err}".split())
        for name, one in ran.items()
    }


@pytest.mark.slow
def test_every_command_that_counts_copies_says_so(command: Command, folder: Path, suite: Callable[..., Path]) -> None:
    told = told_by(command, folder, suite())
    assert told == dict.fromkeys(told, True)
    [judge] = json.loads((folder / "run" / "summary.json").read_text())["judges"]
    assert SENTENCE in judge["warnings"]


@pytest.mark.slow
def test_a_gate_says_that_its_cases_are_copies(command: Command, folder: Path, suite: Callable[..., Path]) -> None:
    gate = ("--fail-under", "accuracy>=0.5", "--json")
    ran = command("run", suite(), "--out", folder / "run", "--yes", *gate)
    [check] = ran.json["gates"]["checks"]
    assert (check["status"], check["reason"].endswith(f"; {SENTENCE}")) == ("passed", True)
    joined = command("run", suite("cluster"), "--out", folder / "joined", "--yes", *gate)
    assert "word for word" not in joined.json["gates"]["checks"][0]["reason"]


@pytest.mark.slow
def test_copies_that_share_a_cluster_are_not_told(command: Command, folder: Path, suite: Callable[..., Path]) -> None:
    told = told_by(command, folder, suite("cluster"))
    assert told == dict.fromkeys(told, False)


@pytest.mark.slow
def test_another_column_may_name_the_clusters(command: Command, folder: Path, suite: Callable[..., Path]) -> None:
    assert command("run", suite("source_id"), "--out", folder / "run", "--yes").code == 0
    rows = read_log(folder / "run" / "verdicts.jsonl")
    assert copied_cases(rows) == [SENTENCE]
    assert copied_cases(rows, "source_id") == []
    asked = ("certify", folder / "run" / "verdicts.jsonl", "--source", "human")
    assert "word for word" in command(*asked).out
    assert "word for word" not in command(*asked, "--cluster", "source_id").out


@pytest.mark.slow
def test_copies_are_seen_in_a_design_without_the_plain_prompt_and_beside_json(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    config = json.loads(suite().read_text())
    changed = {"perturbations": ["format_change"], "repetitions": 1}
    (folder / "run.json").write_text(json.dumps(config | {"harness": config["harness"] | changed}))
    assert command("run", folder / "run.json", "--out", folder / "run", "--yes").code == 0
    ran = command("replay", folder / "run", "--rule", "majority", "--json")  # each case has a format of its own
    assert " of 40 cases ask word for word what another case does" in ran.err


@pytest.mark.slow
def test_a_run_that_was_cut_off_is_no_sample_of_its_cases(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    command("run", suite("cluster"), "--out", folder / "run", "--yes", "--budget-calls", 60)
    log = folder / "run" / "verdicts.jsonl"
    told = "7 of 40 cases were never asked: those that were speak for them only if cases came in random"
    calibrated = command("calibrate", "--log", log, "--rule", "majority", "--source", "human")
    assert told in " ".join(calibrated.out.split())
    certified = command("certify", log, "--source", "human", "--out", folder / "certificate.json")
    assert (certified.code, certified.out, certified.err.count("\n")) == (2, "", 1)
    assert told in certified.err
    assert certified.err.endswith(
        "order, and nothing shows that they did: continue the run to its end, without --until.\n"
    )
    assert command("run", folder / "run.json", "--out", folder / "run", "--yes").code == 0
    assert command("certify", log, "--source", "human").code in {0, 1}


def row(case_id: str, asked: str | None, **more: Any) -> VerdictRow:
    return VerdictRow(case_id=case_id, verdict="PASS", probe_hash=asked, **more)


def test_one_case_in_two_runs_is_no_copy_and_neither_is_one_without_a_hash() -> None:
    rows = [row("a", "1", run="r1"), row("a", "1", run="r2"), row("b", None), row("c", None), row("d", "2")]
    assert copied_cases(rows) == []
    [told] = copied_cases([*rows, row("e", "2")])
    assert told.startswith("1 of 5 cases asks word for word what another case does, and counts as one cluster with it:")


@pytest.mark.slow
def test_a_copy_is_seen_however_many_cases_lie_between() -> None:
    clusters = Clusters()
    copies = [clusters.add(f"c{n}", n % 120_000, None) for n in range(120_001)]
    assert (sum(copies), len(clusters)) == (1, 120_000)
    assert clusters.shared() == dict.fromkeys(("c0", "c120000"), ("case", "c0"))


@pytest.mark.slow
def test_a_case_in_two_runs_is_one_case_in_the_table_too(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    """Ten texts asked of four ids, and twice, are no eighty: intervals are about as wide as those of one run."""
    config = suite("source")
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(
        text.replace("good,PASS,k1", "good,FAIL,k1").replace("bad,FAIL,k4", "bad,PASS,k4")
    )
    for run in ("one", "two"):
        command("run", config, "--out", folder / run, "--yes")
    both = folder / "both.jsonl"
    both.write_text("".join((folder / run / "verdicts.jsonl").read_text() for run in ("one", "two")))
    once, twice = (
        json.loads(command("replay", path, "--rule", "majority", "--json").out)["judges"][0]
        for path in (folder / "one", both)
    )
    assert (once["correct"], once["clusters"], twice["correct"], twice["clusters"]) == (32, 10, 64, 10)
    widths = [
        one["high"] - one["low"] for judge in (once, twice) for one in [judge["controls"]["listed"][0]["advantage"]]
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)  # of eighty cases it would be .7 of that
    assert "40 cases in 10 clusters" in command("replay", folder / "one", "--rule", "majority").out
    assert "80 cases in 10 clusters" in command("replay", both, "--rule", "majority").out


@pytest.mark.slow
def test_copies_of_labels_are_in_the_cluster_of_what_they_copy(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    """Asked now, by the harness, of a log or of a rate: forty labels of ten texts are those of ten clusters."""
    config, cases = suite(), folder / "cases.csv"
    log = folder / "run" / "verdicts.jsonl"
    command("run", config, "--out", folder / "run", "--yes")
    labelled = ("--source", "human", "--json")
    asked = ("--labels", cases, "--out", folder / "cal.json", "--yes")
    reports = [
        json.loads(command("calibrate", config, *asked, *labelled).out),
        json.loads(command("calibrate", "--log", log, "--rule", "majority", *labelled).out),
    ]
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")

    def judge(case: Any) -> str:
        return "PASS" if "good" in case.output else "FAIL"

    found = [one.criteria["verdict"].clusters for one in [harness.calibrate(judge, CalibrationSet.from_file(cases))]]
    assert [*found, *(one["criteria"]["verdict"]["clusters"] for one in reports)] == [10, 10, 10]


@pytest.mark.slow
def test_a_judge_is_checked_for_drift_on_one_copy_of_each_text(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    config, out = suite(), folder / "cal.json"
    log = folder / "run" / "verdicts.jsonl"
    command("run", config, "--out", folder / "run", "--yes")
    labels = ("--labels", folder / "cases.csv")
    for asked in (("--log", log, "--rule", "majority"), (config, *labels, "--yes")):
        command("calibrate", *asked, "--source", "human", "--out", out)
        saved = CalibrationReport.load(out)
        assert len({item.cluster for item in saved.items}) == len(anchor_cases(saved.items)) == 10
        assert {item.cluster for item in saved.items if item.case_id in {"c3", "c13"}} == {"case c13"}
        [found] = drift(saved, saved.items).criteria.values()
        assert found.n == 10


@pytest.mark.slow
def test_copies_are_held_out_together(command: Command, folder: Path, suite: Callable[..., Path]) -> None:
    config, asked = suite(), ("--source", "human", "--holdout", "0.3", "--json")
    command("run", config, "--out", folder / "run", "--yes")
    told = command("calibrate", "--log", folder / "run" / "verdicts.jsonl", "--rule", "majority", *asked)
    ids = {int(item["case_id"][1:]) % 10 for item in json.loads(told.out)["items"]}
    assert len(json.loads(told.out)["items"]) == 4 * len(ids)


def test_cases_that_can_share_nothing_are_counted_and_not_kept() -> None:
    clusters = Clusters()
    rows = [row("a", None), row("b", None, attributes={"cluster": "k"}), row("c", "1"), row("d", "1")]
    for one in rows:
        clusters.add_rows(one.case_id, [one], once=True)
    assert (len(clusters), clusters.shared()) == (3, dict.fromkeys("cd", ("case", "c")))
    assert clusters.copied == copied_cases(rows)


LINKS = [("a", "1", "k"), ("b", "1", None), ("c", "1", "l"), ("d", None, "l"), ("e", None, None), ("f", "2", "m")]


@given(st.permutations(LINKS))
def test_cases_that_a_chain_of_copies_and_named_clusters_connects_are_one_cluster(
    links: list[tuple[str, str | None, str | None]],
) -> None:
    clusters = Clusters()
    for link in links:
        clusters.add(*link)
    one = dict.fromkeys("abcd", ("cluster", "k"))
    assert clusters.by_case() == one | {"e": ("case", "e"), "f": ("cluster", "m")}
    assert (clusters.shared(), len(clusters)) == (one, 3)
    assert clusters.copied[0].startswith("2 of 6 cases ask word for word what another case does, and count as one ")


def test_labels_that_contradict_those_of_a_copy_are_told() -> None:
    pair = {"attributes": {"pair_digest": "p"}}
    given = [("a", "1", None), ("b", "1", "A"), ("c", "2", "B"), ("d", "1", "B"), ("e", "2", "TIE"), ("f", "1", None)]
    rows = [row(case_id, asked, gold=gold, **pair) for case_id, asked, gold in given]
    assert copied_cases(rows)[0].endswith("over 1 cluster; 2 of the copies have another gold label")
    assert copied_cases(rows[:4])[0].endswith("over 1 cluster; 1 of the copies has another gold label")
    assert copied_cases(rows[:3])[0].endswith("over 1 cluster")


def test_rows_of_copies_carry_one_value() -> None:
    rows = [row("a", "1"), row("b", "1"), row("c", "2"), row("d", "3", attributes={"cluster": "k"}), row("e", "3")]
    together, told = copies_together(rows)
    assert [one.attributes.get("cluster") for one in together] == ["asked as a", "asked as a", None, "k", "k"]
    assert told[0].endswith("and count as one cluster with it: intervals and tests are over 3 clusters")
    assert copies_together(rows[1:4]) == (rows[1:4], [])


@pytest.mark.slow
def test_a_column_that_the_log_does_not_hold_is_refused(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    command("run", suite(), "--out", folder / "run", "--yes")
    log = folder / "run" / "verdicts.jsonl"
    for asked in (("certify", log, "--source", "human"), ("corrected-rate", log, "--rule", "majority")):
        ran = command(*asked, "--cluster", "kimd")
        assert (ran.code, "unknown column 'kimd'" in ran.err) == (2, True)


@pytest.mark.slow
def test_a_ranking_and_a_pilot_say_that_cases_are_copies(command: Command, tmp_path: Path) -> None:
    rows = [
        VerdictRow(
            case_id=f"c{n}", judge=judge, verdict="AB"[(n + place) % 3 % 2], gold="A", repetition=repetition,
            probe_hash=f"{n % 10}{judge}{repetition}",
        )
        for place, judge in enumerate(("one", "two", "three"))
        for n in range(40)
        for repetition in range(2)
    ]  # fmt: skip
    log = write_log(rows, tmp_path / "log.jsonl")
    asked = {
        "rank": ("rank", log),
        "plan": ("plan", "--pilot", log, "--judge", "one", "--width", "0.2"),
    }
    told = {name: SENTENCE in " ".join(command(*given).out.split()) for name, given in asked.items()}
    assert told == {"rank": True, "plan": True}
    assert command("rank", log, "--json").json["copies"] == [SENTENCE]


def test_pairs_of_a_ranking_that_share_a_cluster_are_not_told(command: Command, tmp_path: Path) -> None:
    rows = [
        VerdictRow(case_id=f"c{n}", judge=judge, verdict="AB"[(n + place) % 3 % 2], gold="A", probe_hash=f"{n % 10}",
                   attributes={"source": f"{n % 10}"})
        for place, judge in enumerate(("one", "two", "three"))
        for n in range(40)
    ]  # fmt: skip
    log = write_log(rows, tmp_path / "log.jsonl")
    assert command("rank", log, "--cluster", "source", "--json").json["copies"] == []


@pytest.mark.slow
def test_copies_under_clusters_numbers_and_spellings_of_their_own_pass_no_gate(
    command: Command, folder: Path, suite: Callable[..., Path]
) -> None:
    config = suite()
    kinds = [("good", "PASS"), ("bad", "FAIL")]
    cells = [(n, *kinds[n % 2], " " * (n // 10) + "." * (n % 3)) for n in range(200)]
    lines = [f"c{n},Question {n % 10},{kind}{end},{gold},{n},r{n}" for n, kind, gold, end in cells]
    (folder / "cases.csv").write_text("\n".join(["case_id,input,output,gold,row,cluster", *lines]))
    ran = command("run", config, "--out", folder / "run", "--yes", "--fail-under", "accuracy>=0.9")
    assert ran.code == 1
    assert "intervals and tests are over 10 clusters" in " ".join(ran.out.split())


def test_labels_of_near_copies_in_one_order_are_not_exchanged() -> None:
    def facts(**change: Any) -> dict[str, str | float]:
        given = {"case_id": "c", "output": "good", "output_b": "bad", **change}
        return dict(CaseFacts.of(PairwiseCase(**given)).attributes)

    rows = [
        VerdictRow(case_id=f"c{n}", verdict="A", gold=gold, probe_hash=f"{n}", attributes=facts(**change))
        for n, (gold, change) in enumerate([
            ("A", {}), ("A", {"output": "Good."}),
            ("B", {"output": "bad", "output_b": " good"}), ("B", {"output_b": "bad\n"}),
        ])
    ]  # fmt: skip
    [told] = copied_cases(rows)
    assert told.startswith("3 of 4 cases ask word for word")
    assert told.endswith("1 of the copies has another gold label")


PAIRS = "def first(case):\n    return 'A' if 'good' in case.output else 'B'\n"


@pytest.fixture
def pairs(folder: Path) -> Path:
    """Twenty pairs, each of them a second time with its answers exchanged, under a configuration."""
    (folder / "house_of_pairs.py").write_text(PAIRS)
    texts = [
        (f"{'good' if n % 3 else 'bad'} {n}", f"{'bad' if n % 3 else 'good'} {n}", "BAAAA"[n % 5]) for n in range(20)
    ]
    other = {"A": "B", "B": "A"}
    lines = [f"c{n},{one},{two},{gold}" for n, (one, two, gold) in enumerate(texts)]
    lines += [f"d{n},{two},{one},{other[gold]}" for n, (one, two, gold) in enumerate(texts)]
    (folder / "pairs.csv").write_text("\n".join(["case_id,output,output_b,gold", *lines]))
    config = {
        "judges": [{"name": "first", "callable": "house_of_pairs:first", "model": "gpt-4o"}],
        "cases": "pairs.csv",
        "harness": {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"},
    }
    (folder / "run.json").write_text(json.dumps(config))
    return folder / "run.json"


@pytest.mark.slow
def test_pairs_with_their_answers_exchanged_are_copies_wherever_they_are_counted(
    command: Command, folder: Path, pairs: Path
) -> None:
    log, labelled = folder / "run" / "verdicts.jsonl", ("--source", "human", "--json")
    assert "20 of 40 cases ask word for word" in " ".join(
        command("run", pairs, "--out", folder / "run", "--yes").out.split()
    )
    reports = [
        command("calibrate", "--log", log, "--rule", "majority", *labelled).json,
        command(
            "calibrate", pairs, "--labels", folder / "pairs.csv", "--out", folder / "c.json", "--yes", *labelled
        ).json,
    ]
    assert [one["criteria"]["verdict"]["clusters"] for one in reports] == [20, 20]


def test_pairs_whose_copies_say_how_long_each_answer_is_are_copies() -> None:
    one, two = (
        CaseFacts.of(
            PairwiseCase(case_id="c", output=a, output_b=b, attributes={"length_a": len(a), "length_b": len(b)})
        )
        for a, b in (("short", "a long one"), ("a long one", "short"))
    )
    assert one.attributes["pair_digest"] == two.attributes["pair_digest"]


def test_a_pair_that_cannot_be_written_down_has_no_digest() -> None:
    made = PairwiseCase(case_id="c", output="a", output_b="b", reference=object())  # type: ignore[arg-type]
    assert "pair_digest" not in CaseFacts.of(made).attributes


@pytest.mark.slow
def test_a_run_from_before_pairs_had_digests_is_continued(command: Command, folder: Path, pairs: Path) -> None:
    asked = ("run", pairs, "--out", folder / "run", "--yes")
    command(*asked, "--budget-calls", 40)
    log = folder / "run" / "verdicts.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for one in rows:
        del one["pair_digest"]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    assert command(*asked).code == 0


@pytest.mark.slow
def test_a_label_of_a_copy_costs_a_certificate_nothing(command: Command, tmp_path: Path) -> None:
    rows = [
        VerdictRow(
            case_id=f"c{n}", verdict="A", gold="B" if n % 20 == 3 else "A", probe_hash=str(min(n, 199)), repetition=r
        )
        for n in range(201)
        for r in range(2)
    ]
    with_copy, without = (write_log(some, tmp_path / f"{len(some)}.jsonl") for some in (rows, rows[:-2]))
    ran, expected = (command("certify", log, "--source", "human", "--json").json for log in (with_copy, without))
    assert ran["selections"] == expected["selections"]


def test_of_copies_the_one_with_a_label_stays() -> None:
    rows = [row("a", "1"), row("b", "1", gold="PASS"), row("c", "2"), row("d", "2")]
    kept, [told] = without_copies(rows)
    assert [one.case_id for one in kept] == ["b", "c"]
    assert told.startswith("2 of 4 cases ask word for word what another case does, and are left out:")


def test_one_copy_is_told_as_one() -> None:
    assert without_copies([row("a", "1"), row("b", "1")])[1][0].startswith("1 of 2 cases asks word for word")


def test_copies_whose_labels_contradict_are_evidence_against_a_certificate(command: Command, tmp_path: Path) -> None:
    """The first ones alone would certify every decision, and the other ones none."""
    golds = [(f"{n}{gold}", n, gold) for gold in ("PASS", "FAIL") for n in range(60)]
    log = write_log([row(case_id, str(n), gold=gold) for case_id, n, gold in golds], tmp_path / "log.jsonl")
    ran = command("certify", log, "--source", "human")
    assert (ran.code, "60 of 120 labelled in 60 clusters disagree" in " ".join(ran.out.split())) == (1, True)


@pytest.mark.parametrize(
    ("order", "gold", "kept"),
    [("1", "A", 1), ("1", "B", 2), ("1", None, 1), ("2", "B", 1), ("2", "A", 2), ("2", "TIE", 2)],
)
def test_labels_of_exchanged_answers_contradict_where_they_are_the_same(
    order: str, gold: str | None, kept: int
) -> None:
    pair = {"attributes": {"pair_digest": "p"}}
    rows = [row("a", "1", gold="A", **pair), row("b", order, gold=gold, **pair)]
    found, told = without_copies(rows)
    assert (len(found), len({one.attributes.get("cluster") for one in found}), len(told)) == (kept, 1, 1)


EIGHT = """
def _judged(case, wrong):
    other = {'A': 'B', 'B': 'A'}
    right = 'A' if 'good' in case.output else 'B'
    return other[right] if case.output.split()[-1] in wrong else right

def before(case):
    return _judged(case, '0')

def after(case):
    return _judged(case, '0123')
"""


@pytest.fixture
def eight(folder: Path) -> Callable[..., Path]:
    """Writes a configuration of eight pairs, each so many times under ids of its own, every other one exchanged."""
    (folder / "house_of_eight.py").write_text(EIGHT)

    def write(judge: str, *, copies: int) -> Path:
        texts = [(n, k, f"good {n}", f"bad {n}") for n in range(8) for k in range(copies)]
        lines = [f"p{n}k{k},{b},{a},B" if (n + k) % 2 else f"p{n}k{k},{a},{b},A" for n, k, a, b in texts]
        (folder / "eight.csv").write_text("\n".join(["case_id,output,output_b,gold", *lines]))
        config = {
            "judges": [{"name": "judge", "callable": f"house_of_eight:{judge}", "model": "gpt-4o"}],
            "cases": "eight.csv",
            "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"},
        }
        (folder / f"{judge}{copies}.json").write_text(json.dumps(config))
        return folder / f"{judge}{copies}.json"

    return write


def accuracy_of(command: Command, *asked: object) -> tuple[float, float, float]:
    """The accuracy and its interval."""
    found = command(*asked, "--json").json["judges"][0]["criteria"][0]["accuracy"]
    return found["value"], found["low"], found["high"]


@pytest.mark.slow
def test_many_copies_of_eight_pairs_tell_no_more_than_eight_pairs(
    command: Command, folder: Path, eight: Callable[..., Path]
) -> None:
    """Seven of eight are right: 160 independent pairs would say .814 to .922, and pass the gate."""
    for copies in (1, 20):
        gate = ("--fail-under", "accuracy>=0.75", "--json")
        ran = command("run", eight("before", copies=copies), "--out", folder / f"{copies}", "--yes", *gate)
        assert (ran.code, ran.json["gates"]["checks"][0]["status"]) == (1, "failed")
    alone, copied = (accuracy_of(command, "report", folder / f"{copies}") for copies in (1, 20))
    assert copied == pytest.approx(alone, abs=0.1)
    assert copied[1] < alone[1] < alone[2] < copied[2]
    kept = json.loads((folder / "20" / "summary.json").read_text())["judges"][0]["criteria"][0]
    replayed = command("replay", folder / "20", "--rule", "majority", "--json").json["judges"][0]
    assert [one["clusters"] for one in (kept, replayed)] == [8, 8]
    assert tuple(kept["accuracy_95"]) == copied[1:]
    checked = command("report", folder / "20", "--fail-under", "accuracy>=0.75", "--json")
    assert (checked.code, checked.json["gates"]["checks"][0]["low"] < 0.5) == (1, True)


@pytest.mark.slow
def test_few_texts_settle_no_gate_however_often_they_are_asked(
    command: Command, folder: Path, eight: Callable[..., Path]
) -> None:
    asked = ("--out", folder / "run", "--yes", "--json", "--until", "accuracy>=0.5")
    ran = command("run", eight("before", copies=20), *asked)
    [check] = ran.json["gates"]["checks"]
    assert (ran.code, check["status"], check["n"]) == (1, "failed", 8)
    assert "over 8 decided cases with gold (152 copies count with what is copied, by the mean)" in check["reason"]
    assert "not settled" in check["reason"]


@pytest.mark.slow
def test_a_stray_copy_is_no_further_case_of_a_population(
    command: Command, folder: Path, eight: Callable[..., Path]
) -> None:
    config = eight("before", copies=1)
    with (folder / "eight.csv").open("a") as cases:
        cases.write("\nagain,bad 7,good 7,B")
    asked = ("run", config, "--out", folder / "run", "--yes", "--until", "accuracy>=0.5")
    [check] = command(*asked, "--json").json["gates"]["checks"]
    assert (check["n"], check["looked"]) == (8, 8)
    assert (
        "over 8 decided cases with gold (1 copy counts with what is copied, by the mean), about the pop"
        in check["reason"]
    )
    assert command("run", config, "--out", folder / "whole", "--yes").code == 0
    whole = command("report", folder / "whole", "--sequential", "--fail-under", "coverage>=0.5", "--json").json
    assert whole["gates"]["checks"][0]["n"] == 8
    assert command(*asked, "--about", "suite", "--overwrite").code == 0


@pytest.mark.slow
def test_a_change_on_three_texts_is_no_change_of_sixty_cases(
    command: Command, folder: Path, eight: Callable[..., Path]
) -> None:
    for judge in ("before", "after"):
        command("run", eight(judge, copies=20), "--out", folder / judge, "--yes")
    ran = command("compare", folder / "before", folder / "after", "--fail-on", "worse", "--json")
    [found] = ran.json["criteria"]
    assert (ran.code, found["answer"], found["main"]["clusters"]) == (0, "no difference found", 8)
    assert found["main"]["p"] == pytest.approx(0.25, abs=0.01)
    [told] = ran.json["copies"]
    assert told.endswith("count as one cluster with it: intervals and tests are over 8 clusters")


@pytest.mark.parametrize(("texts", "interval"), [(1, (0.0, 1.0)), (2, (0.1, 1.0)), (3, (0.2, 1.0))])
def test_hardly_any_texts_tell_hardly_anything(
    command: Command, tmp_path: Path, texts: int, interval: tuple[float, float]
) -> None:
    rows = [row(f"c{n}", str(n % texts), gold="PASS") for n in range(60)]
    log = write_log(rows, tmp_path / "log.jsonl")
    value, low, high = accuracy_of(command, "report", log, "--rule", "majority")
    assert (value, low, high) == pytest.approx((1.0, *interval), abs=0.1)
    gated = command("report", log, "--rule", "majority", "--fail-under", "accuracy>=0.5", "--json")
    reason = gated.json["gates"]["checks"][0]["reason"]
    assert gated.code == 1
    assert f"intervals and tests are over {texts} cluster" in reason
