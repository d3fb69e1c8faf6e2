"""`judgeharness label`: through a pipe, killed and resumed, as a sheet, and merged into what `calibrate` takes."""
# ruff: noqa: S603 - what is run is this interpreter and the command under test

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import CalibrationReport
from judgeharness_integrations.labelling.resultsheets import item_of
from judgeharness_integrations.verdictlog import read_log

Command = Callable[..., Any]
Type = Callable[..., None]
HERE = [sys.executable, "-c", "import sys; from judgeharness_integrations.cli import main; sys.exit(main())"]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Type:
    """Type lines into the next command."""

    def type_lines(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def label(command: Command, typed: Type, inside: Path) -> Command:
    """Label the three pairs: the answer that holds `good`, or what `says` finds."""

    def run(annotator: str, *arguments: object, says: Callable[[str], str] | None = None) -> Any:
        ran = command("label", "cases.csv", "--annotator", annotator, "--sheet", f"{annotator}.csv")
        assert ran.code == 0
        with Path(f"{annotator}.csv").open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file))
        ids = {item_of(case_id): case_id for case_id in ("c1", "c2", "c3")}
        typed(*(says(ids[line["item"]]) if says else "ab"["good" in line["output_b"]] for line in lines))
        return command("label", "cases.csv", "--annotator", annotator, *arguments)

    return run


def test_labels_through_a_pipe_are_a_verdict_log(label: Command, inside: Path) -> None:
    ran = label("anna")
    assert ran.code == 0
    assert "3 of 3" in ran.out
    assert "anna: 3 of 3 labelled, 3 of them now; they are in labels.jsonl." in ran.out
    rows = read_log(inside / "labels.jsonl")
    assert {row.case_id: row.verdict for row in rows} == {"c1": "A", "c2": "B", "c3": "A"}
    assert {row.judge for row in rows} == {"anna"}
    assert all(row.asked_at for row in rows)


def test_nothing_tells_gold_or_author(command: Command, typed: Type, inside: Path) -> None:
    (inside / "blind.csv").write_text("case_id,output,author,gold,model\ngpt-7,text,gpt-7,GOLD,gpt-7\n")
    typed("?", "q")
    ran = command("label", "blind.csv", "--annotator", "anna")
    assert "text" in ran.out
    assert "gpt-7" not in ran.out + ran.err
    assert "GOLD" not in ran.out + ran.err


def test_running_again_goes_on(command: Command, typed: Type, inside: Path) -> None:
    typed("a", "q")
    ran = command("label", "cases.csv", "--annotator", "anna")
    assert "anna: 1 of 3 labelled, 1 of them now; they are in labels.jsonl: run it again to go on." in ran.out
    typed("s", "/b", "b", "tie")
    ran = command("label", "cases.csv", "--annotator", "anna")
    assert "1 of 3 are labelled." in ran.out
    assert "anna: 3 of 3 labelled, 2 of them now" in ran.out
    assert len(read_log(inside / "labels.jsonl")) == 3


def test_skipped_cases_are_counted(command: Command, typed: Type, inside: Path) -> None:
    typed("s", "a", "a")
    assert "2 of 3 labelled, 2 of them now, 1 skipped;" in command("label", "cases.csv", "--annotator", "anna").out


def test_with_json_the_questions_are_on_standard_error(command: Command, typed: Type, inside: Path) -> None:
    typed("a", "q")
    ran = command("label", "cases.csv", "--annotator", "anna", "--json", "--out", "own.jsonl")
    facts = {"annotator": "anna", "questions": 3, "labelled": 1, "added": 1, "skipped": 0, "complete": False}
    assert ran.json == {"schema": "judgeharness.label/1", **facts}
    assert "1 of 3" in ran.err
    assert (inside / "own.jsonl").is_file()


@pytest.mark.slow
def test_a_killed_session_loses_no_answer_and_is_resumed(command: Command, typed: Type, inside: Path) -> None:
    arguments = ["label", "cases.csv", "--annotator", "anna"]
    process = subprocess.Popen([*HERE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    log = inside / "labels.jsonl"
    try:
        assert process.stdin is not None
        process.stdin.write("a\nb\n")
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (log.is_file() and log.read_text().count("\n") == 2):
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -9
    before = log.read_bytes()
    assert before.count(b"\n") == 2
    log.write_bytes(before + b'{"case_id": "c')  # cut off in the middle of a line
    typed("tie")
    ran = command(*arguments)
    assert "2 of 3 are labelled." in ran.out
    assert log.read_bytes().startswith(before)
    assert [row.verdict for row in read_log(log)][-1] == "TIE"


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_an_interrupt_says_how_far_it_came(
    command: Command, monkeypatch: pytest.MonkeyPatch, inside: Path, as_json: tuple[str, ...]
) -> None:
    class Interrupted(io.StringIO):
        def readline(self, *_: object) -> str:
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(sys, "stdin", Interrupted("a\n"))
    ran = command("label", "cases.csv", "--annotator", "anna", *as_json)
    assert ran.code == 130
    assert "anna: 1 of 3 labelled, 1 of them now; they are in labels.jsonl: run it again to go on." in ran.err
    assert ran.err.endswith("error: interrupted.\n")


def test_what_is_typed_in_another_encoding_is_asked_again(
    command: Command, monkeypatch: pytest.MonkeyPatch, inside: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\na\n"), encoding="utf-8"))
    ran = command("label", "cases.csv", "--annotator", "anna")
    assert "is not an answer: write A / B / TIE." in ran.out
    assert len(read_log(inside / "labels.jsonl")) == 1


def test_hostile_texts_and_names_reach_no_terminal(command: Command, typed: Type, inside: Path) -> None:
    hostile = "x\x1b[2J\x07\u202e"
    line = {"case_id": f"c{hostile}", "output": hostile, "input": hostile}
    (inside / "cases.jsonl").write_text(json.dumps(line) + "\n")
    typed(hostile, "c", hostile, "p")
    asked = ("--annotator", f"anna{hostile}", "--criterion", hostile, "--out", "labels.jsonl")
    ran = command("label", "cases.jsonl", *asked)
    assert ran.code == 0
    ran_merge = command("label", "--merge", "labels.jsonl", "--cases", "cases.jsonl", "--out", "gold.csv")
    shown = ran.out + ran.err + ran_merge.out + ran_merge.err
    assert ran_merge.code == 0
    assert all(character.isprintable() or character == "\n" for character in shown)
    [row] = read_log(inside / "labels.jsonl")
    assert (row.verdict, row.reasoning, row.criterion) == ("PASS", "x [2J", hostile)


# Sheets


def fill(sheet: Path) -> None:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {"label": "ab"["good" in line["output_b"]]} for line in lines)


def test_a_sheet_is_written_filled_and_taken(command: Command, inside: Path) -> None:
    ran = command("label", "cases.csv", "--annotator", "anna", "--sheet", "sheet.csv")
    assert ran.out.startswith("3 questions are in sheet.csv: fill its column label")
    fill(inside / "sheet.csv")
    ran = command("label", "cases.csv", "--from-sheet", "sheet.csv")
    assert ran.out == "3 labels are in labels.jsonl, 3 of them new.\n"
    ran = command("label", "cases.csv", "--annotator", "anna", "--from-sheet", "sheet.csv", "--json")
    assert ran.json == {"schema": "judgeharness.label/1", "log": "labels.jsonl", "labels": 3, "added": 0}
    ran = command("label", "--from-sheet", "sheet.csv")
    assert (ran.code, ran.err.count("give the cases it was written for")) == (2, 1)
    rows = read_log(inside / "labels.jsonl")
    assert {row.case_id: row.verdict for row in rows} == {"c1": "A", "c2": "B", "c3": "A"}
    ran = command("label", "cases.csv", "--annotator", "anna", "--sheet", "other.jsonl", "--json")
    assert ran.json == {"schema": "judgeharness.label/1", "sheet": "other.jsonl", "questions": 3}


@pytest.mark.slow
def test_the_sheet_of_another_goes_into_a_log_when_its_annotator_is_named_alone(command: Command, inside: Path) -> None:
    for name in ("anna", "ben"):
        assert command("label", "cases.csv", "--annotator", name, "--sheet", f"{name}.csv").code == 0
        fill(inside / f"{name}.csv")
    take = ("label", "cases.csv", "--out", "ben.jsonl", "--from-sheet")
    assert command(*take, "ben.csv").code == 0
    before = (inside / "ben.jsonl").read_bytes()
    ran = command(*take, "anna.csv")
    assert ran.code == 2
    assert "ben.jsonl holds labels of 'ben', the sheet is of 'anna': give another --out, or --annotator" in ran.err
    assert "is the sheet of 'anna', not of 'ben'" in command(*take, "anna.csv", "--annotator", "ben").err
    assert (inside / "ben.jsonl").read_bytes() == before
    assert command(*take, "anna.csv", "--annotator", "anna").code == 0
    assert command(*take, "anna.csv").code == 0  # whose labels the log holds by now


# Merging


@pytest.mark.slow
def test_labels_of_several_annotators_calibrate_a_judge(label: Command, command: Command, configure: Command) -> None:
    for name in ("anna", "ben"):
        label(name, "--out", f"{name}.jsonl")
    label("cleo", "--out", "cleo.jsonl", says=lambda case_id: "tie" if case_id == "c2" else "s")
    logs = [f"{name}.jsonl" for name in ("anna", "ben", "cleo")]
    ran = command("label", "--merge", *logs, "--cases", "cases.csv", "--out", "gold.csv")
    assert ran.code == 0
    assert ran.out.splitlines()[:4] == [
        "3 annotators: anna (3), ben (3), cleo (1)",
        "3 items of 3 of 3 cases are labelled",
        "items by number of labels: 2: 2, 3: 1",
        "consensus majority: 3 golds; 0 evenly split items have none",
    ]
    assert "written to gold.csv: calibrate --labels takes it" in ran.out
    ran = command(
        "calibrate", "--source", "human", configure("good"), "--labels", "gold.csv", "--out", "cal.json", "--yes"
    )
    assert ran.code == 0
    measured = CalibrationReport.load(Path("cal.json")).criteria["verdict"]
    assert (measured.n, measured.precision is not None and measured.precision.value) == (3, 1.0)


def test_merging_counts_what_it_leaves_out(label: Command, command: Command, inside: Path) -> None:
    label("anna")
    label("ben", says=lambda case_id: "s" if case_id == "c1" else "tie")
    (inside / "more.csv").write_text("case_id,verdict,judge\nelsewhere,A,anna\nc1,,ben\n")
    ran = command(
        *("label", "--merge", "labels.jsonl", "more.csv", "--cases", "cases.csv", "--out", "gold.jsonl", "--json")
    )
    document = ran.json
    [pair] = document.pop("agreement")
    assert document == {
        "schema": "judgeharness.labels/1",
        "annotators": {"anna": 4, "ben": 2},
        "consensus": "majority",
        "labelled_cases": 3,
        "items": 3,
        "golds": 1,
        "ties": 2,
        "labels_per_item": {"1": 1, "2": 2},
        "labels_of_no_case": 1,
        "rows_without_label": 1,
        "cases": 3,
        "repeated": {},
        "out": "gold.jsonl",
    }
    assert (pair["annotators"], pair["items"], pair["agreed"]) == (["anna", "ben"], 2, 0)
    ran = command("label", "--merge", "labels.jsonl", "more.csv", "--cases", "cases.csv", "--out", "gold.csv")
    assert "1 labels are of no case given and count for nothing" in ran.out
    assert "1 row holds no label" in ran.out
    assert "agreement of annotators" in ran.out


@pytest.mark.slow
def test_merging_writes_over_no_log_and_no_case_and_over_nothing_else_unasked(
    label: Command, command: Command, inside: Path
) -> None:
    label("anna", "--out", "anna.jsonl")
    (inside / "link.csv").symlink_to("cases.csv")
    merge = ("label", "--merge", "anna.jsonl", "--cases", "cases.csv", "--out")
    for out, clash in (("anna.jsonl", "anna.jsonl"), ("cases.csv", "cases.csv"), ("link.csv", "cases.csv")):
        before = (inside / out).read_bytes()
        ran = command(*merge, out, "--overwrite")
        assert ran.code == 2
        assert f"--out {out} is {clash}, which is read: give another --out." in ran.err
        assert (inside / out).read_bytes() == before
    (inside / "gold.csv").write_text("mine")
    assert "gold.csv exists: give another --out, or --overwrite." in command(*merge, "gold.csv").err
    assert (inside / "gold.csv").read_text() == "mine"
    assert command(*merge, "gold.csv", "--overwrite").code == 0
    assert (inside / "gold.csv").read_text().startswith("case_id")


@pytest.mark.slow
def test_labels_that_stand_twice_count_once_and_are_told(label: Command, command: Command, inside: Path) -> None:
    label("anna", "--out", "anna.jsonl")
    label("ben", "--out", "ben.jsonl", says=lambda case_id: "s" if case_id == "c1" else "tie")
    (inside / "copy.jsonl").write_bytes((inside / "anna.jsonl").read_bytes())
    merge = ("label", "--merge", "anna.jsonl", "copy.jsonl", "ben.jsonl", "--cases", "cases.csv", "--out")
    ran = command(*merge, "gold.csv")
    assert ran.out.startswith("2 annotators: anna (3), ben (2)\n")
    assert "3 labels of anna stand twice or more and count once: is one of the files a copy?" in ran.out
    assert command(*merge, "gold.jsonl", "--json").json["repeated"] == {"anna": 3}


@pytest.mark.slow
def test_a_calibration_on_merged_labels_says_how_many_were_evenly_split(
    label: Command, command: Command, configure: Command
) -> None:
    label("anna", "--out", "anna.jsonl")
    label("ben", "--out", "ben.jsonl", says=lambda case_id: "s" if case_id == "c1" else "tie")
    command("label", "--merge", "anna.jsonl", "ben.jsonl", "--cases", "cases.csv", "--out", "gold.csv")
    ran = command(
        "calibrate", "--source", "human", configure("good"), "--labels", "gold.csv", "--out", "cal.json", "--yes"
    )
    assert "2 ties left out" in ran.out
    assert CalibrationReport.load(Path("cal.json")).excluded_ties == 2


def test_one_criterion_of_several_may_be_merged(command: Command, typed: Type, inside: Path) -> None:
    typed("p", "f", "p", "p", "f", "p")
    criteria = ("--criterion", "tone", "--criterion", "facts", "--answers", "PASS,FAIL")
    command("label", "cases.csv", "--annotator", "anna", *criteria)
    merge = ("label", "--merge", "labels.jsonl", "--cases", "cases.csv", "--out", "gold.jsonl")
    assert "did you mean 'tone'?" in command(*merge, "--criterion", "tones").err
    ran = command(*merge, "--criterion", "tone")
    assert "one annotator: nothing tells how far people agree" in ran.out
    golds = [json.loads(line)["gold"] for line in (inside / "gold.jsonl").read_text().splitlines()]
    assert [set(gold) for gold in golds] == [{"tone"}] * 3


@pytest.mark.slow
def test_annotators_go_into_agreement(label: Command, command: Command, inside: Path) -> None:
    for name in ("anna", "ben", "cleo"):
        label(name)
    ran = command("agreement", "kappa", "labels.jsonl", "--json")
    assert ran.code == 0
    assert {"anna", "ben", "cleo"} <= set(json.dumps(ran.json).replace('"', " ").replace(",", " ").split())
    (inside / "judge.csv").write_text("case_id,verdict,judge\nc1,A,gpt\nc2,B,gpt\nc3,B,gpt\n")
    humans = ("--humans", "anna,ben", "--humans", "cleo", "--candidate", "gpt", "--min-instances", 2)
    ran = command("agreement", "alt-test", "labels.jsonl", "judge.csv", *humans, "--json")
    assert ran.code == 0
    [tested] = ran.json["candidates"]
    assert (tested["candidate"], tested["m_tested"]) == ("gpt", 3)
    assert tested["rho"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give the case file to label"),
        (("cases.csv",), "say who labels: give --annotator NAME."),
        (("cases.csv", "--annotator", " "), "an annotator needs a name."),
        (("cases.csv", "cases.csv", "--annotator", "a"), "give one case file, not 2; --merge takes several logs."),
        (("cases.csv", "--annotator", "a", "--out", "labels.csv"), "a log of labels is .jsonl."),
        (("cases.csv", "--annotator", "a", "--out", "."), "is a folder: give the path of a file as --out."),
        (("cases.csv", "--annotator", "a", "--answers", "PASS"), "answers are two or more different labels"),
        (("cases.csv", "--annotator", "a", "--criterion", "*"), "a criterion cannot be named '*'"),
        (("cases.csv", "--annotator", "a", "--cases", "x"), "--cases goes with --merge"),
        (("cases.csv", "--annotator", "a", "--overwrite"), "--overwrite goes with --merge"),
        (("cases.csv", "--annotator", "a", "--sheet", "s.csv", "--out", "x.jsonl"), "leave out --out."),
        (("cases.csv", "--annotator", "a", "--sheet", "s.csv", "--from-sheet", "s.csv"), "give --sheet, which writes"),
        (("--from-sheet", "s.csv", "--answers", "A,B"), "leave out --answers and --criterion."),
        (("--from-sheet", "none.csv"), "none.csv: cannot be read"),
        (("--merge",), "--merge needs the logs, --cases CASES and --out FILE."),
        (("--merge", "l.jsonl", "--annotator", "a", "--sheet", "x"), "leave out --annotator, --sheet."),
        (("--merge", "cases.csv", "--cases", "cases.csv", "--out", "g.csv"), "column 'verdict' is missing"),
        (
            ("--merge", "log.csv", "--cases", "cases.csv", "--out", "g.csv", "--consensus", "mean"),
            "unknown consensus rule 'mean': known is majority.",
        ),
    ],
)
def test_wrong_calls(command: Command, inside: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (inside / "log.csv").write_text("case_id,verdict,judge\nc1,A,anna\n")
    ran = command("label", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(path.name for path in inside.iterdir()) == ["cases.csv", "cli_judges.py", "log.csv"]
