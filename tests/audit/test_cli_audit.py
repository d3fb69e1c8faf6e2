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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from support.benchmark_results import judged, make_benchmark, verification

from judgeharness_integrations import CalibrationReport
from judgeharness_integrations.audit.assigning import read_assignment
from judgeharness_integrations.audit.labels import label_log, read_labels
from judgeharness_integrations.audit.source import AuditSource, CaseView
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.cli import _audit, main
from judgeharness_integrations.schemas import schema

HERE = [sys.executable, "-c", "import sys; from judgeharness_integrations.cli import main; sys.exit(main())"]
JUDGES = "def good(case):\n    return 'A' if 'good' in case.output else 'B'\n"
CASES = "case_id,input,output,output_b\n" + "".join(
    f"c{n},q,{'good' if n % 2 else 'bad'} {n},{'bad' if n % 2 else 'good'} {n}\n" for n in range(1, 25)
)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Served:
    """What the page would have shown; `port` it was to be served on."""

    sources: list[AuditSource] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    @property
    def source(self) -> AuditSource:
        return self.sources[-1]


Command = Callable[..., Ran]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The page is handed over instead of served; another test serves it."""
    found = Served()

    def serve(source: AuditSource, *, ready: Callable[[str, str], None], port: int) -> None:
        found.sources.append(source)
        found.ports.append(port)
        ready("http://127.0.0.1:1/?token=secret", "http://127.0.0.1:1/?token=once")

    monkeypatch.setattr("judgeharness_integrations.audit.web.serving.serve", serve)
    monkeypatch.setattr(_audit.webbrowser, "open", found.opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    """24 pairs, two of them rejected, judged by three judges."""
    failed = {3: verification("adherence"), 8: verification("grounding")}
    folder = make_benchmark(tmp_path_factory.mktemp("made"), failed=failed)
    with folder.log() as log:
        log.append(judged([pair for pair in folder.pairs() if pair.state == "accepted"]))
    return folder


@pytest.fixture
def benchmark(made: BenchmarkFolder, tmp_path: Path) -> BenchmarkFolder:
    return BenchmarkFolder(shutil.copytree(made.path, tmp_path / "bench"))


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
    ran = command("calibrate", "run.json", "--labels", "gold.csv", "--out", "cal.json", "--yes")
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
