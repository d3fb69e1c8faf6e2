"""`judgeharness audit`: shares pairs out, tells how far people are, and serves the page until Ctrl-C."""
# ruff: noqa: S603 - what is run is this interpreter and the command under test

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.audit_command import Command, Served
from support.benchmark_results import make_benchmark

from judgeharness_integrations import CalibrationReport
from judgeharness_integrations.audit.labels import read_assignment, read_labels
from judgeharness_integrations.audit.source import AuditSource, CaseView
from judgeharness_integrations.benchmark.folder import BenchmarkFolder

HERE = [sys.executable, "-c", "import sys; from judgeharness_integrations.cli import main; sys.exit(main())"]
JUDGES = "def good(case):\n    return 'A' if 'good' in case.output else 'B'\n"
CASES = "case_id,input,output,output_b\n" + "".join(
    f"c{n},q,{'good' if n % 2 else 'bad'} {n},{'bad' if n % 2 else 'good'} {n}\n" for n in range(1, 25)
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "audit_judges.py").write_text(JUDGES)
    (tmp_path / "cases.csv").write_text(CASES)
    config = {
        "judges": [{"name": "good", "callable": "audit_judges:good"}],
        "cases": "cases.csv",
        "harness": {
            "perturbations": ["none", "position_swap"],
            "repetitions": 1,
            "aggregation_rule": "swap_consensus",
        },
    }
    (tmp_path / "run.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("audit_judges", None)


@pytest.mark.slow
def test_the_page_of_pairs_begins_with_the_bundle(command: Command, served: Served, benchmark: BenchmarkFolder) -> None:
    command("audit", benchmark.path, "--assign", "anna,ben", "--n", 10)
    ran = command("audit", benchmark.path, "--annotator", " anna ", "--port", 8123)
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(
        r"0 of \d+ pairs of .*bench are labelled by anna; label at http://127\.0\.0\.1:1/\?token=secret "
        r"\(Ctrl-C ends it\)\.\n",
        ran.out,
    )
    assert (served.ports, served.opened) == ([8123], ["http://127.0.0.1:1/?token=once"])
    assert served.source.orders[0] == "assigned"
    first = served.source.ordered("assigned")[0]
    served.source.label(first, "noise", "no flaw")
    assert read_labels(benchmark.path)["anna"][first].label == "noise"
    assert "1 of " in command("audit", benchmark.path, "--annotator", "anna", "--no-browser").out
    assert len(served.opened) == 1
    other = command("audit", benchmark.path, "--annotator", "Ana")
    assert other.err == "nothing is assigned to 'Ana'; pairs are assigned to anna, ben: is that the name?\n"


def test_whom_nothing_was_assigned_is_told(command: Command, served: Served, benchmark: BenchmarkFolder) -> None:
    command("audit", benchmark.path, "--assign", "anna,ben", "--n", 1, "--suspicious", 0)
    made = read_assignment(benchmark.path)
    assert made is not None
    (idle,) = (name for name, bundle in made.bundles.items() if not bundle)
    ran = command("audit", benchmark.path, "--annotator", idle)
    assert ran.code == 0
    assert ran.err == (
        f"nothing is assigned to '{idle}': every pair can be read and labelled; those labels count apart, in no rate.\n"
    )
    assert ran.out.startswith("0 of 0 pairs of ")
    assert served.source.orders[0] == "number"


def test_a_seed_draws_the_order_of_cases(command: Command, served: Served, place: Path) -> None:
    assert place.is_dir()
    orders = []
    for seed in ((), ("--seed", 0), ("--seed", 1)):
        assert command("audit", "cases.csv", "--annotator", "anna", *seed).code == 0
        orders.append(list(served.source.ordered("drawn")))
    assert orders[0] == orders[1] != orders[2]


def test_no_browser_opens_where_there_is_no_screen(
    command: Command, served: Served, benchmark: BenchmarkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert command("audit", benchmark.path, "--annotator", "anna").code == 0
    assert served.opened == []


@pytest.mark.parametrize(
    ("order", "first"), [("joint", "joint correctness"), ("strong-miss", "strong miss, weak hit"), ("number", "number")]
)
def test_pairs_are_shown_in_the_order_wished_for(
    command: Command, served: Served, benchmark: BenchmarkFolder, order: str, first: str
) -> None:
    assert command("audit", benchmark.path, "--annotator", "anna", "--order", order).code == 0
    assert served.source.orders[0] == first
    assert len({*served.source.orders}) == len(served.source.orders) == 3
    assert len(served.source.ordered(first)) == 24


def test_an_order_there_is_not_is_told(command: Command, served: Served, tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "bench", n=3)
    asked = ("audit", folder.path, "--annotator", "anna", "--order")
    assert "no order 'joint', since no judge was asked" in command(*asked, "joint").err
    assert "no order 'assigned', since nothing is assigned to 'anna'" in command(*asked, "assigned").err
    assert served.sources == []


def test_a_benchmark_without_pairs_has_nothing_to_label(command: Command, served: Served, tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "bench", n=0)
    assert "holds no pair yet" in command("audit", folder.path, "--annotator", "anna").err
    assert "there is no pair to assign" in command("audit", folder.path, "--assign", "anna").err
    assert served.sources == []


def label_page(source: AuditSource, *, wrong: int = 0) -> None:
    """Prefer the answer that holds `good`, but for a few."""
    for place, item in enumerate(source.items()):
        view = source.views(item.item_id)
        assert isinstance(view, CaseView)
        good = "A" if "good" in dict(view.texts)["Answer A"] else "B"
        source.label(item.item_id, {"A": "B", "B": "A"}[good] if place < wrong else good, "")


@pytest.mark.slow
def test_labels_of_a_run_are_merged_and_calibrate_its_judge(command: Command, served: Served, place: Path) -> None:
    assert command("run", "run.json", "--out", "out", "--yes").code == 0
    for name in ("anna", "ben"):
        ran = command("audit", "out", "--annotator", name)
        assert ran.code == 0
        assert f"0 of 24 cases of out are labelled by {name}" in ran.out
        label_page(served.source, wrong=2 if name == "ben" else 0)
    logs = ("out/labels/anna.jsonl", "out/labels/ben.jsonl")
    merged = command("label", "--merge", *logs, "--cases", "cases.csv", "--out", "gold.csv", "--json").json
    assert merged["annotators"] == {"anna": 24, "ben": 24}
    assert (merged["golds"], merged["ties"]) == (22, 2)
    ran = command("calibrate", "--source", "human", "run.json", "--labels", "gold.csv", "--out", "cal.json", "--yes")
    assert ran.code == 0
    report = CalibrationReport.from_dict(json.loads((place / "cal.json").read_text()))
    measured = report.criteria["verdict"]
    assert measured.precision is not None
    assert (measured.precision.successes, measured.precision.trials) == (22, 22)


def test_a_case_file_is_labelled_beside_it(command: Command, served: Served, place: Path) -> None:
    ran = command("audit", "cases.csv", "--annotator", "anna", "--criterion", "tone", "--answers", "1..5")
    assert ran.code == 0
    served.source.label(served.source.ordered("drawn")[0], "4", "")
    (line,) = (place / "cases-labels" / "anna.jsonl").read_text().splitlines()
    assert json.loads(line)["verdict"] == 4
    assert json.loads(line)["criterion"] == "tone"
    shutil.copy("cases.csv", "cases.v2.csv")  # the same ids, which may be of other texts
    assert "0 of 24 cases" in command("audit", "cases.v2.csv", "--annotator", "anna").out


@pytest.mark.slow
def test_abstentions_of_a_run(command: Command, served: Served, place: Path) -> None:
    config = json.loads((place / "run.json").read_text())
    config["judges"][0]["callable"] = "audit_judges:first"
    (place / "audit_judges.py").write_text(JUDGES + "def first(case):\n    return 'A'\n")  # in both orders
    (place / "run.json").write_text(json.dumps(config))
    command("run", "run.json", "--out", "out", "--yes")
    assert command("audit", "out", "--annotator", "anna", "--only", "abstained").code == 0
    assert len(served.source.items()) == 24
    ran = command("audit", "out", "--annotator", "anna", "--only", "not-graded", "--cases", "cases.csv")
    assert (ran.code, len(served.sources)) == (2, 1)
    assert "none of 24 questions is about a case that ended not_graded" in ran.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere does not exist: give the folder of judgeharness benchmark generate"),
        (["."], ". holds neither a benchmark nor a run: give the folder of"),
        (["bench"], "say who labels: give --annotator NAME."),
        (["bench", "--annotator", "a/b"], "an annotator's name is also the name of a file"),
        (
            ["bench", "--annotator", "a", "--only", "all"],
            "--only goes with cases, and bench is a benchmark: leave it out",
        ),
        (["bench", "--annotator", "a", "--n", "3"], "--n goes with --assign: leave it out"),
        (["bench", "--annotator", "a", "--overlap", "0"], "--overlap goes with --assign: leave it out"),
        (["bench", "--annotator", "a", "--suspicious", "0"], "--suspicious goes with --assign: leave it out"),
        (["bench", "--annotator", "a", "--seed", "0"], "--seed goes with --assign: leave it out"),
        (["bench", "--status", "--n", "3", "--seed", "1"], "--n and --seed go with --assign: leave them out"),
        (["bench", "--annotator", "a", "--json"], "--json goes with --assign or --status"),
        (["bench", "--assign", "a", "--status"], "give --assign, which shares pairs out, or --status"),
        (["bench", "--assign", "a", "--annotator", "a"], "--annotator goes with the page, which is not served"),
        (["bench", "--assign", "a", "--suspicious", "-1"], "--suspicious is a number of pairs of at least 0, not -1"),
        (["bench", "--assign", " , "], "name the annotators, each once"),
        (["cases.csv", "--status", "--n", "3"], "--status and --n go with pairs, and cases.csv is no benchmark"),
        (["cases.csv", "--annotator", "a", "--only", "all"], "--only goes with a run, and cases.csv is a case file"),
        (["cases.csv"], "say who labels"),
        (["run.json", "--annotator", "a"], "a case file is"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    command: Command, served: Served, place: Path, arguments: list[str], sentence: str
) -> None:
    make_benchmark(place / "bench", n=3)
    ran = command("audit", *arguments)
    assert (ran.code, ran.out, served.sources) == (2, "", [])
    assert sentence in ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_the_page_is_served_until_it_is_interrupted(benchmark: BenchmarkFolder) -> None:
    asked = [*HERE, "audit", str(benchmark.path), "--annotator", "anna", "--no-browser"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", running.stdout.readline())
        assert found is not None
        with httpx.Client(follow_redirects=True) as client:
            page = client.get(found.group())
            assert page.status_code == 200
            assert "pair-00001" in page.text
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (0, "", "")


@pytest.mark.slow
def test_a_page_that_is_terminated_says_so_as_every_command_does_and_keeps_its_labels(
    benchmark: BenchmarkFolder,
) -> None:
    asked = [*HERE, "audit", str(benchmark.path), "--annotator", "anna", "--no-browser"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=\S+", running.stdout.readline())
        assert found is not None
        with httpx.Client(follow_redirects=True, headers={"origin": found[1]}) as client:
            shown = client.get(found[0])
            token = re.search(r'name="csrf" value="(\w+)"', client.get(f"{found[1]}/item?id=pair-00001").text)
            assert token is not None
            form = {"csrf": token[1], "value": "noise", "note": ""}
            assert client.post(f"{found[1]}/label?id=pair-00001", data=form).status_code == shown.status_code == 200
        running.terminate()
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (143, "", "error: terminated.\n")
    assert read_labels(benchmark.path)["anna"]["pair-00001"].label == "noise"


@pytest.mark.slow
def test_a_port_that_is_taken_is_told(benchmark: BenchmarkFolder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        asked = [*HERE, "audit", str(benchmark.path), "--annotator", "anna", "--no-browser", "--port", port]
        ran = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"port {port}" in ran.stderr
    assert ran.stderr.count("\n") == 1
