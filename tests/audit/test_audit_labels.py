"""People's labels in a file: appended, taken back, cut off anywhere, written by two processes at once."""
# ruff: noqa: S603 - what is run is this interpreter

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import CaseError, LogStorageError, RunBusyError, UsageError
from judgeharness_integrations.audit import audit_columns
from judgeharness_integrations.audit.labels import (
    AuditLabel,
    AuditLog,
    PairLabel,
    check_annotator,
    consensus,
    divided,
    label_log,
    read_labels,
)

LABELS: tuple[PairLabel | None, ...] = ("clean", "ambiguous", "noise", None)
Said = list[tuple[str, PairLabel | None, str]]

said = st.lists(
    st.tuples(st.sampled_from(["pair-00001", "pair-00002", "p\n3"]), st.sampled_from(LABELS), st.text(max_size=8)),
    min_size=1,
    max_size=6,
)


def filled(log: AuditLog, labels: Said) -> list[AuditLabel]:
    return [log.append(pair_id, label, note) for pair_id, label, note in labels]


def labelled(**votes: str | None) -> dict[str, dict[str, AuditLabel]]:
    """Return labels of a pair `p`, by annotator."""
    return {
        name: {"p": AuditLabel.from_dict({"pair_id": "p", "annotator": name, "label": label, "sequence": 1}, where="")}
        for name, label in votes.items()
    }


def test_the_last_line_about_a_pair_counts_and_every_line_stays(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "deep" / "anna.jsonl")
    assert log.labels() == {}
    filled(log, [("x", "clean", ""), ("y", "noise", "no flaw"), ("x", "ambiguous", "faint")])
    assert {name: (one.label, one.note) for name, one in log.labels().items()} == {
        "x": ("ambiguous", "faint"),
        "y": ("noise", "no flaw"),
    }
    assert [one.sequence for one in AuditLog(log.path).lines()] == [1, 2, 3]


def test_a_label_taken_back_is_a_line_too(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    filled(log, [("x", "clean", ""), ("x", None, "look again")])
    assert log.labels()["x"].label is None
    assert log.labels()["x"].note == "look again"
    assert len(log.lines()) == 2


def test_a_note_is_kept_as_a_file_can_hold_it(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    log.append("x", "noise", "\ud800 \0 \u202e \u2028 line\nbreak </script>")
    assert log.labels()["x"].note == "\ufffd \ufffd \u202e \u2028 line\nbreak </script>"


@pytest.mark.slow
@given(said, st.data())
def test_a_crash_at_any_byte_loses_the_last_line_at_most(labels: Said, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        log = AuditLog(Path(folder) / "anna.jsonl")
        whole = filled(log, labels)
        held = log.path.read_bytes()
        before = held[:-1].rfind(b"\n") + 1
        cut = data.draw(st.integers(before, len(held)))
        log.path.write_bytes(held[:cut])
        complete = cut >= len(held) - 1  # the line break alone is missing
        kept = whole if complete else whole[:-1]
        assert log.lines() == kept
        again = log.append("after", "clean")
        assert log.lines() == [*kept, again]
        assert again.sequence == len(kept) + 1
        assert log.path.read_bytes().startswith(held[: len(held) if complete else before])


@pytest.mark.parametrize("cut", [1, 9, 60])
def test_only_what_is_half_a_line_is_taken_off(tmp_path: Path, cut: int) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    filled(log, [("x", "clean", ""), ("y", "noise", "")])
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-cut])
    log.append("z", "clean")
    assert [one.pair_id for one in log.lines()] == (["x", "y", "z"] if cut == 1 else ["x", "z"])
    assert log.path.read_bytes().count(b"\n") == len(log.lines())


@pytest.mark.parametrize("text", ["nothing of ours", '{"schema": "judgeharness.label/1"', "[1]\n", "nothing\n"])
def test_what_is_not_ours_is_neither_read_nor_cut_off(tmp_path: Path, text: str) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    log.path.write_text(text)
    with pytest.raises(CaseError, match=r"anna\.jsonl, line 1"):
        log.append("x", "clean")
    assert log.path.read_text() == text


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    filled(log, [("x", "clean", ""), ("y", "clean", "")])
    log.path.write_text(log.path.read_text().replace('"y"', '"y'))
    with pytest.raises(CaseError, match=r"line 2 is no JSON \(.*\): take the line out"):
        log.labels()


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    AuditLog(tmp_path / "anna.jsonl").append("x", "clean")
    (tmp_path / "anna.jsonl").rename(tmp_path / "ben.jsonl")
    with pytest.raises(CaseError, match="is of 'anna' in the file of 'ben': name each file after its annotator"):
        AuditLog(tmp_path / "ben.jsonl").labels()


@pytest.mark.parametrize(
    "name", ["", "  ", "..", ".anna", "a/b", "a\\b", "a\nb", "anna.", "a:b", "x" * 101, "\u202eanna"]
)
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="an annotator's name is also the name of a file"):
        label_log(tmp_path, name)


@pytest.mark.parametrize("name", ["anna", " Zoë ", "j.doe@example.org", "ワトソン"])
def test_other_names_are_names(name: str) -> None:
    assert check_annotator(name) == name.strip()


def test_labels_are_read_by_annotator(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == {}
    for name in ("zoe", "anna.b", "Zoë"):
        label_log(tmp_path, name).append("x", "clean", name)
    assert list(read_labels(tmp_path)) == ["Zoë", "anna.b", "zoe"]
    assert (tmp_path / "audit" / "labels" / "anna.b.jsonl").is_file()
    assert read_labels(tmp_path)["anna.b"]["x"].note == "anna.b"


def test_two_tabs_lose_nothing(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    tabs = [
        threading.Thread(target=filled, args=(log, [(f"{tab}-{n}", "clean", "")] * 3)) for tab in "ab" for n in "12"
    ]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert [one.sequence for one in log.lines()] == list(range(1, 13))


def test_a_file_that_another_process_does_not_let_go_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.labelling.labellog._WAIT_S", 0.05)
    log = AuditLog(tmp_path / "anna.jsonl")
    with FileLock(tmp_path / ".anna.jsonl.lock"), pytest.raises(RunBusyError, match="is held by another process"):
        log.append("x", "clean")


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = AuditLog(tmp_path / "anna.jsonl")
    log.append("x", "clean")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    held = log.path.read_bytes()
    with pytest.raises(LogStorageError, match=r"the label is not kept: .*anna\.jsonl cannot be written \(No space"):
        log.append("x", "noise")
    assert log.path.read_bytes() == held  # what is called not kept is not there, though it was written whole
    other = AuditLog(tmp_path / "ben.jsonl")
    with pytest.raises(LogStorageError, match="not kept"):
        other.append("x", "noise")
    assert other.labels() == {}


def test_a_new_file_whose_name_the_disk_does_not_take_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def full(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(5, "Input/output error")
        sync(handle)

    monkeypatch.setattr("os.fsync", full)
    log = AuditLog(tmp_path / "anna.jsonl")
    with pytest.raises(LogStorageError, match="the label is not kept"):
        log.append("x", "noise")
    assert log.labels() == {}


@pytest.mark.slow
def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from judgeharness_integrations.audit.labels import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]))\n"
        "for n in range(60): log.append(f'{sys.argv[2]}-{n}', 'clean')\n"
    )
    path = tmp_path / "anna.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in "ab"]
    assert [one.wait(60) for one in running] == [0, 0]
    lines = AuditLog(path).lines()
    assert [one.sequence for one in lines] == list(range(1, 121))
    assert {one.pair_id for one in lines} == {f"{name}-{n}" for name in "ab" for n in range(60)}


@pytest.mark.slow
def test_a_killed_process_loses_nothing_it_had_written(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from judgeharness_integrations.audit.labels import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]))\n"
        "for n in range(10_000):\n"
        "    print(log.append(f'p{n}', 'noise', 'x' * 2000).sequence, flush=True)\n"
    )
    path = tmp_path / "anna.jsonl"
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for _ in range(20):
            running.stdout.readline()
        running.kill()
        told = 20 + len(running.stdout.read().splitlines())
    assert told <= len(AuditLog(path).lines()) <= told + 1
    AuditLog(path).append("after", "clean")
    assert AuditLog(path).lines()[-1].pair_id == "after"


@pytest.mark.parametrize(
    ("votes", "decided", "is_divided"),
    [
        ({"a": "clean"}, "clean", False),
        ({"a": "clean", "b": "clean", "c": "noise"}, "clean", False),
        ({"a": "clean", "b": "noise"}, "ambiguous", True),
        ({"a": "clean", "b": "noise", "c": "ambiguous"}, "ambiguous", True),
        ({"a": "ambiguous", "b": "ambiguous", "c": "noise"}, "ambiguous", False),
        ({"a": "noise", "b": "noise", "c": "clean", "d": "clean", "e": "ambiguous"}, "ambiguous", True),
        ({"a": "noise", "b": None}, "noise", False),
        ({"a": None}, None, False),
    ],
)
def test_the_majority_decides_and_an_even_split_is_ambiguous(
    votes: dict[str, str | None], decided: str | None, *, is_divided: bool
) -> None:
    labels = labelled(**votes)
    assert consensus(labels) == {"p": decided}
    assert divided(labels) == ({"p"} if is_divided else set())


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(LABELS)))
def test_the_order_of_annotators_changes_nothing(votes: dict[str, PairLabel | None]) -> None:
    labels = labelled(**votes)
    turned = dict(reversed(labels.items()))
    assert consensus(labels) == consensus(turned)
    assert divided(labels) == divided(turned)


def test_the_columns_of_a_benchmark_are_the_consensus(tmp_path: Path) -> None:
    assert audit_columns(tmp_path) == {}
    label_log(tmp_path, "anna").append("y", "noise")
    label_log(tmp_path, "anna").append("x", "clean")
    label_log(tmp_path, "ben").append("x", "noise")
    assert list(audit_columns(tmp_path).items()) == [("x", "ambiguous"), ("y", "noise")]
