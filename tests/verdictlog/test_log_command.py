from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from support.databases import fresh_schema

from judgeharness_integrations._errors import LogFormatError, LogStorageError, UnknownNameError, UsageError
from judgeharness_integrations.cli.log import log as app
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow, read_log, write_log

ROWS = [VerdictRow(case_id=f"c{n}", verdict="A", run=f"r{n % 2}", attributes={"length": n}) for n in range(5)]

Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    monkeypatch.setattr("judgeharness_integrations.cli.log._AT_ONCE", 2)

    def run(*arguments: object) -> str:
        typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.parquet"])
def test_rows_go_in_and_come_out_as_they_were(tmp_path: Path, said: Said, name: str) -> None:
    file, log = write_log(ROWS, tmp_path / name), tmp_path / "log.sqlite"
    assert said("import", file, "--log", log) == f"{log}: 5 rows new, 0 known already.\n"
    assert said("import", file, "--log", log) == f"{log}: 0 rows new, 5 known already.\n"
    for _ in range(2):
        out = tmp_path / "out" / name
        assert said("export", "--log", log, "--out", out) == f"{out}: 5 rows written.\n"
        assert out.read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_one_run_goes_in_and_comes_out(tmp_path: Path, said: Said) -> None:
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    file.write_text("case_id,verdict\nc,1\nd,2.5\n")
    with fresh_schema() as url:
        assert said("import", file, "--log", url, "--run", "mine").endswith("/test: 2 rows new, 0 known already.\n")
        assert said("import", file, "--log", url, "--run", "yours", "--labels").endswith(
            " 2 rows new, 0 known already.\n"
        )
        assert said("export", "--log", url, "--run", "mine", "--out", out) == f"{out}: 2 rows written.\n"
        assert [(row.run, row.verdict) for row in read_log(out)] == [("mine", 1), ("mine", 2.5)]
        with SqlLog(url) as log:
            assert [row.verdict for row in log.rows(run="yours")] == ["1", "2.5"]
            log.append([replace(ROWS[0], run="single")])
        assert said("export", "--log", url, "--run", "single", "--out", out) == f"{out}: 1 row written.\n"
        with pytest.raises(UnknownNameError, match="unknown run 'min': did you mean 'mine'"):
            said("export", "--log", url, "--run", "min", "--out", out)


def test_a_database_goes_into_another(tmp_path: Path, said: Said) -> None:
    with SqlLog(tmp_path / "a.db") as log:
        log.append(ROWS)
    said("import", tmp_path / "a.db", "--log", tmp_path / "b.db")
    assert read_log(tmp_path / "b.db") == ROWS


def test_a_file_that_cannot_be_read_makes_no_database(tmp_path: Path, said: Said) -> None:
    with pytest.raises(LogFormatError, match="cannot be read"):
        said("import", tmp_path / "none.csv", "--log", tmp_path / "log.sqlite")
    with pytest.raises(LogStorageError, match="there is no such verdict log"):
        said("export", "--log", tmp_path / "log.sqlite", "--out", tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_several_runs_do_not_become_one(tmp_path: Path, said: Said) -> None:
    file, log = write_log(ROWS, tmp_path / "in.jsonl"), tmp_path / "log.sqlite"
    with pytest.raises(UsageError, match=r"holds 2 runs \('r0', 'r1'\), which --run would make one: leave --run out"):
        said("import", file, "--log", log, "--run", "merged")
    assert not log.exists()
    one = write_log(ROWS[::2], tmp_path / "one.csv")
    assert said("import", one, "--log", log, "--run", "merged") == f"{log}: 3 rows new, 0 known already.\n"


def test_other_answers_in_a_known_place_are_not_called_known(tmp_path: Path, said: Said) -> None:
    log = tmp_path / "log.sqlite"
    said("import", write_log(ROWS, tmp_path / "in.jsonl"), "--log", log)
    others = [
        ROWS[0],
        replace(ROWS[1], verdict="B"),
        replace(ROWS[2], reasoning="why"),
        replace(ROWS[3], case_id="new"),
    ]
    assert said("import", write_log(others, tmp_path / "other.jsonl"), "--log", log).splitlines() == [
        f"{log}: 1 row new, 1 known already.",
        "2 rows not added: the log holds other answers in their place.",
    ]
    with SqlLog(log) as held:
        assert [row.verdict for row in held.rows(case_id="c1")] == ["A"]
