"""Files that `load_results` meets: where it looks, what is cut off, damaged or hostile."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.adk_answers import in_turn
from support.adk_projects import evaluated

from judgeharness_adk import load_results
from judgeharness_adk.invocations import read_document, read_eval_set
from judgeharness_adk.results.records import read_history, turns_of
from judgeharness_integrations._errors import CaseError, ConfigError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.verdictlog import read_log

ODD = [
    None,
    True,
    0,
    -1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    "=1+1",
    [],
    [None],
    {},
    {"": {}},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    evaluated(folder, in_turn("yes", "no", "yes"), cases=1, num_runs=2)
    return folder


@pytest.fixture(scope="module")
def sidecar(project: Path) -> Path:
    return next(project.rglob("*.judgeharness.jsonl"))


@pytest.fixture(scope="module")
def history(project: Path) -> Path:
    return next(project.rglob("*.evalset_result.json"))


@pytest.fixture
def place(tmp_path: Path, sidecar: Path) -> Callable[..., Path]:
    """Puts a sidecar's content somewhere below a folder of its own."""

    def put(where: str = "a.judgeharness.jsonl", content: bytes | None = None) -> Path:
        path = tmp_path / "here" / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sidecar.read_bytes() if content is None else content)
        return path

    return put


# Where it looks


@pytest.mark.parametrize("where", ["node_modules", ".git", ".cache/x", ".venv", "env"])
def test_other_peoples_folders_are_not_looked_into(tmp_path: Path, place: Callable[..., Path], where: str) -> None:
    path = place(f"{where}/sub/a.judgeharness.jsonl")
    (tmp_path / "here" / where / "pyvenv.cfg").touch()
    with pytest.raises(UsageError, match="no measurements"):
        load_results(tmp_path / "here")
    assert len(load_results(path)) == len(load_results(path.parent)) == 2


def test_a_project_may_itself_be_an_environment(tmp_path: Path, place: Callable[..., Path]) -> None:
    place("deep/.adk/judgeharness/a.judgeharness.jsonl")
    (tmp_path / "here" / "pyvenv.cfg").touch()
    assert len(load_results(tmp_path / "here")) == 2


def test_folders_and_pipes_of_that_name_are_no_files(tmp_path: Path, place: Callable[..., Path]) -> None:
    place()
    os.mkfifo(tmp_path / "here" / "pipe.judgeharness.jsonl")
    (tmp_path / "here" / "folder.judgeharness.jsonl").mkdir()
    assert len(load_results(tmp_path / "here")) == 2
    with pytest.raises(UsageError, match="there is no file or folder"):
        load_results(tmp_path / "here" / "pipe.judgeharness.jsonl")


def test_what_is_not_there_is_said(tmp_path: Path, place: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match=r"there is no file or folder .*nowhere"):
        load_results(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"give the folder in which `adk eval` ran"):
        load_results(tmp_path)
    with pytest.raises(UsageError, match=r"there is no file or folder .*nowhere"):
        load_results(place(), history=tmp_path / "nowhere")


def test_a_file_that_cannot_be_read_is_named(place: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = place()
    whole = place("b.judgeharness.jsonl")
    opened = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    results = load_results(path.parent)
    assert (len(results), results.notes) == (2, (f"{path}: cannot be read (Permission denied), and was skipped",))
    whole.unlink()
    with pytest.raises(ConfigError, match=r"a\.judgeharness\.jsonl: cannot be read \(Permission denied\)"):
        load_results(path)


# Damage


def test_a_cut_off_last_line_is_skipped_and_told(
    place: Callable[..., Path], sidecar: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = sidecar.read_bytes().splitlines()
    for length in range(1, len(second), 211):
        path = place(content=first + b"\n" + second[:length])
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="judgeharness_adk"):
            results = load_results(path)
        assert (len(results), len(results.notes), len(caplog.records)) == (1, 1, 1)
        assert results.notes[0].endswith(
            "a.judgeharness.jsonl, line 2: is cut off, as when a process is killed, and was skipped"
        )
    assert load_results(place(content=first + b"\n" + second)).notes == ()
    assert len(load_results(place(content=b"\xef\xbb\xbf" + first + b"\r\n\r\n" + second + b"\r\n"))) == 2


def test_half_a_character_is_cut_off_too(place: Callable[..., Path], sidecar: Path) -> None:
    first = sidecar.read_bytes().splitlines()[0]
    assert len(load_results(place(content=first + b'\n{"metric": "\xc3'))) == 1


def test_of_a_file_with_nothing_whole_nothing_is_left(place: Callable[..., Path]) -> None:
    for content in (b"", b"\n\n"):
        with pytest.raises(UsageError, match="no measurements"):
            load_results(place(content=content))
    with pytest.raises(ConfigError, match=r"no measurement is left: .*line 1: is cut off, as when .*, and was skipped"):
        load_results(place(content=b'{"schema": "judgeh'))


def rowless(line: dict[str, Any]) -> None:
    del line["result"]["rows"]


def other_case(line: dict[str, Any]) -> None:
    line["result"]["rows"][0]["case_id"] = "another"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda line: line.update(schema="judgeharness.log/1"), r"is not of schema judgeharness\.adk/1 \(found 'judge"),
        (lambda line: line.update(schema=1), r"is not of schema judgeharness\.adk/1 \(found 1"),
        (lambda line: line.pop("metric"), "its 'metric' is not"),
        (lambda line: line.update(metric=""), "its 'metric' is not"),
        (lambda line: line.update(invocation_id=7), "its 'invocation_id' is not"),
        (lambda line: line.update(rubrics={"a": 1}), "its 'rubrics' is not"),
        (lambda line: line.update(rubrics=None), "its 'rubrics' is not"),
        (lambda line: line.update(standing="ab"), "its 'standing' is not"),
        (lambda line: line.update(parts=[]), "its 'parts' is not"),
        (lambda line: line.update(result=None), "its 'result' is not"),
        (lambda line: line["result"].update(design=None), "the result is damaged"),
        (lambda line: line["result"]["design"].update(rule=7), "the result is damaged"),
        (lambda line: line["result"].update(schema="something else"), "not a result of schema"),
        (rowless, "holds no rows"),
        (other_case, "another case"),
    ],
)
def test_a_damaged_line_is_skipped_and_told(
    place: Callable[..., Path],
    sidecar: Path,
    caplog: pytest.LogCaptureFixture,
    change: Callable[[dict[str, Any]], Any],
    problem: str,
) -> None:
    first, second = sidecar.read_text(encoding="utf-8").splitlines()
    line = json.loads(first)
    change(line)
    path = place(content=f"{json.dumps(line)}\n{second}\n".encode())
    for asked in (path, path.parent):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="judgeharness_adk"):
            [one] = results = load_results(asked)
        assert one.invocation_id == json.loads(second)["invocation_id"]
        [note] = results.notes
        assert re.search(rf"a\.judgeharness\.jsonl, line 1: .*{problem}.*, and was skipped$", note)
        assert [record.getMessage() for record in caplog.records] == [note]
        assert f"note: {note}" in results.report()


def test_a_full_disk_costs_the_lines_it_damaged(place: Callable[..., Path], sidecar: Path) -> None:
    first, second = sidecar.read_bytes().splitlines()
    half = first[: len(first) // 2]
    path = place(content=half + first + b"\n" + second + b"\n" + half + b"\n")
    place("b.judgeharness.jsonl", content=first + b"\n")
    results = load_results(path.parent)
    assert len(results) == 2
    assert [note.partition(": is not JSON (")[0] for note in results.notes] == [f"{path}, line 1", f"{path}, line 3"]


def test_many_damaged_lines_are_counted(place: Callable[..., Path], sidecar: Path) -> None:
    path = place(content=b"".join(b"[%d]\n" % number for number in range(100)) + sidecar.read_bytes())
    results = load_results(path)
    assert (len(results), len(results.notes)) == (2, 6)
    assert results.notes[-1] == f"{path}: 95 more of its lines are damaged and were skipped"


@pytest.mark.parametrize("line", [b"no json", b"\xff\xfe", b"[1]", b"[" * 100_000, b"null", b"1" * 5000])
def test_what_is_no_line_at_all_is_named(place: Callable[..., Path], line: bytes) -> None:
    with pytest.raises(ConfigError, match=r"no measurement is left: .*line 1: is not"):
        load_results(place(content=line + b"\n"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda line: line.update(schema="judgeharness.adk/2"),
            r"is of schema 'judgeharness\.adk/2', and this version reads judgeharness\.adk/1: use the version",
        ),
        (lambda line: line["result"].update(schema="judgeharness.result/9"), r"found 'judgeharness\.result/9'"),
        (
            lambda line: line["result"]["design"].update(rule="quorum(2)"),
            "'quorum.2.' is not known here: .* newer version",
        ),
        (lambda line: line["result"]["design"].update(rule=None), "give it as well, rule=function"),
    ],
)
def test_a_line_that_something_else_reads_is_an_error(
    place: Callable[..., Path], sidecar: Path, change: Callable[[dict[str, Any]], Any], problem: str
) -> None:
    first, second = sidecar.read_text(encoding="utf-8").splitlines()
    line = json.loads(second)
    change(line)
    path = place(content=f"{first}\n{json.dumps(line)}\n".encode())
    for asked in (path, path.parent):
        with pytest.raises(ConfigError, match=rf"a\.judgeharness\.jsonl, line 2: .*{problem}"):
            load_results(asked)


@pytest.mark.parametrize("rubrics", [{}, {"polite": None}])
def test_the_texts_of_rubrics_may_not_be_kept(
    place: Callable[..., Path], sidecar: Path, tmp_path: Path, rubrics: dict[str, None]
) -> None:
    lines = [json.loads(line) | {"rubrics": rubrics} for line in sidecar.read_text(encoding="utf-8").splitlines()]
    results = load_results(place(content="".join(json.dumps(line) + "\n" for line in lines).encode()))
    assert ([one.rubrics for one in results], results.notes) == ([rubrics, rubrics], ())
    sheet = results.write_labelling_sheet(tmp_path / "sheet.jsonl")
    assert {json.loads(line)["rubric"] for line in sheet.read_text().splitlines()} == {""}
    assert "polite" in results.report()


# ADK's results


def test_a_damaged_history_among_others_is_noted(project: Path, history: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "copy")
    for name, content in {"a": "{", "b": "{}", "c": '"no json"', "d": "[" * 100_000, "e": "null"}.items():
        (tmp_path / "copy" / f"{name}.evalset_result.json").write_text(content)
    results = load_results(tmp_path / "copy")
    assert (results.joined, len(results.notes)) == (2, 5)
    assert all(note.endswith(", and was skipped") for note in results.notes)
    with pytest.raises(CaseError, match=r"a\.evalset_result\.json: cannot be read"):
        load_results(tmp_path / "copy", history=tmp_path / "copy" / "a.evalset_result.json")
    with pytest.raises(CaseError, match=r"is not a result of an ADK eval set \(eval"):
        load_results(tmp_path / "copy", history=tmp_path / "copy" / "b.evalset_result.json")


def test_a_type_of_google_genai_that_fails_in_its_own_way_is_damage(history: Path, tmp_path: Path) -> None:
    damaged = json.loads(history.read_text(encoding="utf-8"))
    turn = damaged["eval_case_results"][0]["eval_metric_result_per_invocation"][0]["actual_invocation"]
    turn["final_response"]["parts"][0]["media_processing"] = True
    path = tmp_path / "odd.evalset_result.json"
    path.write_text(json.dumps(damaged))
    for read in (read_history, read_eval_set):
        with pytest.raises(CaseError, match=r"odd\.evalset_result\.json: is n(ot|either) a[n ].* \(AttributeError: "):
            read(path)


def test_results_of_older_versions_are_encoded_twice(sidecar: Path, history: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.evalset_result.json"
    older.write_text(json.dumps(history.read_text(encoding="utf-8")))
    assert load_results(sidecar, history=older) == load_results(sidecar, history=history)
    assert len(read_eval_set(older)) == 2
    older.write_text('"no json"')
    with pytest.raises(CaseError, match="cannot be read"):
        read_document(older)


def test_ids_that_name_several_invocations_join_nothing(history: Path, tmp_path: Path) -> None:
    known = read_history(history)
    first, second = known.eval_case_results
    for case in (first, second):
        case.eval_metric_result_per_invocation[0].actual_invocation.invocation_id = "same"
    assert turns_of([known]) == {}
    for case in (first, second):
        case.eval_metric_result_per_invocation[0].actual_invocation.invocation_id = ""
    assert turns_of([known]) == {}


def test_a_run_without_answers_is_a_run(history: Path) -> None:
    known = read_history(history)
    failed = known.eval_case_results[0].model_copy(update={"session_id": "", "eval_metric_result_per_invocation": []})
    known.eval_case_results[:0] = [failed, failed]
    known.eval_set_result_id = "renamed"
    assert [(turn.app, turn.run) for turn in turns_of([known]).values()] == [(None, 3), (None, 4)]


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        (1.5, "1970-01-01T00:00:01.500+00:00"),
        (0.0, None),
        (float("nan"), None),
        (float("-inf"), None),
        (1e300, None),
        (1e12, None),
    ],
)
def test_when_an_evaluation_was_may_be_unknown(history: Path, stamp: float, moment: str | None) -> None:
    known = read_history(history).model_copy(update={"creation_timestamp": stamp})
    assert [turn.evaluated_at for turn in turns_of([known]).values()] == [moment] * 2


def test_answers_that_were_evaluated_twice_are_of_the_last_evaluation(history: Path) -> None:
    first = read_history(history)
    again = first.model_copy(update={"eval_set_result_id": "again", "creation_timestamp": first.creation_timestamp + 1})
    for histories in ([first, again], [again, first]):
        assert sorted((turn.evaluation, turn.run) for turn in turns_of(histories).values()) == [
            ("again", 1),
            ("again", 2),
        ]


# Anything else


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key of a document."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from spots(value[key])


def damaged(document: Any, draw: Callable[[Any], Any]) -> Any:
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(list(spots(document))))
        if isinstance(container, dict) and draw(st.booleans()):
            del container[key]
        else:
            container[key] = copy.deepcopy(draw(st.sampled_from(ODD)))  # a second round may change it
    return document


def read_all(path: Path, history: Path, out: Path) -> None:
    """Everything one does with results raises nothing but what tells the user."""
    with contextlib.suppress(UsageError):
        results = load_results(path, history=history)
        assert str(results)
        assert len(results.latest()) <= results.joined
        assert len(results.latest().variance()) <= len(results.variance()) or not results.joined
        with contextlib.suppress(UsageError):
            read_log(results.write_log(out / "log.csv"))
        with contextlib.suppress(UsageError):
            sheet = results.write_labelling_sheet(out / "sheet.jsonl", seed=1)
            sheet.write_text(sheet.read_text().replace('"gold": ""', '"gold": "PASS"'))
            for positive in ("PASS", "FAIL"):
                report = results.calibrate(sheet, positive=positive)
                assert CalibrationReport.load(report.save(out / "report.json")).criteria == report.criteria


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_hostile_sidecars(data: st.DataObject, sidecar: Path, history: Path, tmp_path: Path) -> None:
    lines = [damaged(json.loads(line), data.draw) for line in sidecar.read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "a.judgeharness.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read_all(path, history, tmp_path)


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_hostile_histories(data: st.DataObject, sidecar: Path, history: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.evalset_result.json"
    path.write_text(json.dumps(damaged(json.loads(history.read_text(encoding="utf-8")), data.draw)))
    read_all(sidecar, path, tmp_path)
