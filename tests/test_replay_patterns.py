"""A log read by the cases that differ is replayed exactly as one whose rows are all read."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import JudgeHarnessError, LogFormatError
from judgeharness_integrations.cli import _replay
from judgeharness_integrations.cli._output import cases_of_log, rows_of_log
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow, patterns, write_log
from judgeharness_integrations.verdictlog.encoding import unquoted
from judgeharness_integrations.verdictlog.patterns import CasePatterns

DATA = Path(__file__).parent / "data"
VERDICTS: dict[str, list[Any]] = {
    "majority": ["PASS", "FAIL"],
    "net_preference": ["A", "B", "TIE"],
    "median": [1, 2, 4.5],
    "mean(pass_at=2)": [1, 2, 3],
    "majority | median": ["x", "=y", "z"],
    "strict_majority": [frozenset({"x"}), frozenset({"x", "y"}), "none"],
}


def random_log(chance: random.Random, verdicts: list[Any]) -> list[VerdictRow]:
    """Return a log with some of what logs have: failures, criteria, runs, clusters, lengths, digests, gold ..."""

    def have(share: float = 0.5) -> bool:
        return chance.random() < share

    criteria = chance.choice([["verdict"], ["tone", "fact"]])
    orders = chance.choice([["none"], ["none", "position_swap"], ["fmt", "position_swap", "none", "probe:x.y"]])
    repetitions, clustered, measured = chance.randint(1, 3), have(0.3), have(0.3)
    hashed, paired, called, planned, shared, star = have(), have(0.2), have(), have(0.2), have(0.1), have(0.3)
    rows = []
    for run in chance.choice([[""], ["r1"], ["r1", "r2"]]):
        for number in range(chance.choice([3, 12, 40])):
            case_id = f"{'=' if have(0.05) else ''}c{number}"
            golds = {name: chance.choice(verdicts) for name in criteria} if have(0.7) else {}
            attributes: dict[str, str | float] = {"subset": f"s{number % 3}"}
            attributes |= {"cluster": f"k{number // 3}"} if clustered and number % 4 else {}
            attributes |= {"length_a": 10 + number, "length_b": 10 + number % 7} if measured else {}
            attributes |= {"pair_digest": f"d{number % 9}"} if paired else {}
            attributes |= {"planned_samples": len(orders) * repetitions} if planned else {}
            attributes |= {"reused_from": "r0"} if shared else {}
            for judge, order, n in ((j, o, n) for j in ("j", "=k") for o in orders for n in range(repetitions)):
                call: dict[str, Any] = {
                    "case_id": case_id,
                    "run": run,
                    "judge": judge,
                    "perturbation": order,
                    "repetition": n,
                    "swapped": "position_swap" in order,
                    "call_id": f"{case_id}{judge}{order}{n}" if called else None,
                    "probe_hash": f"h{number % 8}{order}{n}" if hashed else None,
                    "latency_s": chance.random(),
                    "attributes": attributes,
                }
                if star and have(0.1):
                    rows.append(VerdictRow(**call, criterion="*", verdict=None, outcome="error", error="E: no"))
                    continue
                for name in criteria:
                    given = None if have(0.07) else chance.choice(verdicts[: chance.choice([1, 1, 2, 3])])
                    outcome = chance.choice(["unparsed", "refused", "error"]) if given is None else "ok"
                    row = VerdictRow(**call | {"outcome": outcome}, criterion=name, verdict=given, gold=golds.get(name))
                    rows += [] if have(0.05) else [row]
    order = chance.choice(["cases", "repetitions", "criteria", "none"])
    if order == "none":
        chance.shuffle(rows)
    elif order != "cases":
        rows.sort(key=lambda row: row.repetition if order == "repetitions" else (row.criterion, row.perturbation))
    return rows


def written(rows: list[VerdictRow], path: Path) -> Path:
    if path.suffix != ".sqlite":
        return write_log(rows, path)
    with SqlLog(path) as log:
        log.append(rows)
    return path


def printed(capsys: pytest.CaptureFixture[str], log: Path, rule: str, **options: Any) -> list[Any]:
    found: list[Any] = []
    for as_json in (True, False):
        try:
            found.append(_replay.replay_log(log, rule, as_json=as_json, **options))
        except JudgeHarnessError as error:
            found.append(f"{type(error).__name__}: {error}")
        found += capsys.readouterr()
    return found


def all_rows(log: Path, *, run: str | None, labels: bool) -> CasePatterns:
    return CasePatterns(rows=rows_of_log(log, run=run, labels=labels))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(40))
def test_logs_are_replayed_as_if_all_rows_were_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - makes test data
    rule, verdicts = chance.choice([*VERDICTS.items()])
    rows = random_log(chance, verdicts)
    log = written(rows, tmp_path / f"log{('.csv', '.jsonl', '.sqlite', '.csv.gz')[seed % 4]}")
    options: dict[str, Any] = {"run": rows[0].run or None} if seed % 3 == 0 else {}
    options |= {"labels": True} if seed % 7 == 0 else {}
    found = printed(capsys, log, rule, **options)
    monkeypatch.setattr(_replay, "cases_of_log", all_rows)
    assert found == printed(capsys, log, rule, **options)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["majority", "net_preference", "supermajority(2/3)"])
def test_a_recorded_log_is_replayed_as_if_all_rows_were_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    found = printed(capsys, DATA / "llmbar.csv.gz", rule)
    monkeypatch.setattr(_replay, "cases_of_log", all_rows)
    assert found[0] == 0
    assert found == printed(capsys, DATA / "llmbar.csv.gz", rule)


def repeating(cases: int) -> list[VerdictRow]:
    return [
        VerdictRow(case_id=f"c{number}", verdict="AB"[(number * 7 + n) % 3 % 2], repetition=n, gold="A")
        for number in range(cases)
        for n in range(4)
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.sqlite"])
def test_more_cases_of_the_same_patterns_hold_no_more_rows(tmp_path: Path, name: str) -> None:
    (tmp_path / "many").mkdir()
    few = cases_of_log(written(repeating(30), tmp_path / name))
    many = cases_of_log(written(repeating(3_000), tmp_path / "many" / name))
    assert (len(few.rows), len(many.rows)) == (12, 12)
    assert sum(many.like.values()) == 3_000


def test_cases_that_hardly_repeat_each_other_are_read_with_all_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict=n + 0.5, latency_s=0.1) for n in range(20)]
    log = write_log(rows, tmp_path / "log.csv")
    monkeypatch.setattr(patterns, "_MOST", 4)
    assert list(cases_of_log(log).rows) == rows


@pytest.mark.parametrize(
    "together",
    [
        [VerdictRow(case_id=f"c{n}", verdict="A", run=run) for run in ("r", "s") for n in range(6)],
        [VerdictRow(case_id=f"c{n}", verdict="A", attributes={"cluster": f"k{n % 3}"}) for n in range(6)],
        [VerdictRow(case_id=f"c{n}", verdict="A", attributes={"pair_digest": f"d{n % 3}"}) for n in range(6)],
        [VerdictRow(case_id=f"c{n}", verdict="A", attributes={"text_digest": f"d{n % 3}"}) for n in range(6)],
        [VerdictRow(case_id=f"c{n}", verdict="A", probe_hash=f"d{n % 3}") for n in range(6)],
    ],
    ids=["runs", "clusters", "pairs", "texts", "hashes"],
)
def test_cases_that_belong_together_are_read_with_all_their_rows(tmp_path: Path, together: list[VerdictRow]) -> None:
    found = cases_of_log(write_log(together, tmp_path / "log.csv"))
    assert (list(found.rows), found.like) == (together, {})


@pytest.mark.parametrize("column", ["pair_digest", "text_digest"])
def test_cases_that_ask_different_questions_stand_for_each_other(tmp_path: Path, column: str) -> None:
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", attributes={column: f"d{n}"}) for n in range(6)]
    found = cases_of_log(write_log(rows, tmp_path / "log.csv"))
    assert (len(found.rows), list(found.like.values())) == (1, [6])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("c1,A,1,0,,7", "line 4: repeats the key of line 2"),
        ("c3,A,x,0,,7", "line 4: repetition 'x' is not a whole number"),
        ("c3,A,0,inf,,7", "line 4: latency_s 'inf' is not a finite number"),
        ("c3,A,0,0,,many", "line 4: input_tokens 'many' is not a whole number"),
        (",A,0,0,,7", "line 4: case_id is empty"),
        ("c3,4,0,0,,7", "line 4: criterion 'verdict' holds a number here and a label in line 2"),
        ("c3,A,0", "line 4: 3 cells where the header has 6"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    log = tmp_path / "log.csv"
    lines = ["case_id,verdict,repetition,latency_s,gold,input_tokens", "c1,A,1,0,,7", "c2,B,1,,,7", line, "c3,,9,0,,-1"]
    log.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(LogFormatError, match=problem):
        cases_of_log(log)


def test_a_log_without_a_column_it_needs_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("case_id,answer\nc1,A\n", encoding="utf-8")
    with pytest.raises(LogFormatError, match="column 'verdict' is missing"):
        cases_of_log(log)


def test_a_rule_of_the_callers_own_reads_all_of_every_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own_rule_of_rows.py").write_text("def longest(rows):\n    return rows[0].reasoning\n")
    rows = [VerdictRow(case_id=f"c{n}", verdict="A", reasoning=f"r{n % 2}", gold=f"r{n % 2}") for n in range(4)]
    log = write_log(rows, tmp_path / "log.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.syspath_prepend(str(tmp_path))
        assert _replay.replay_log(log, "own_rule_of_rows:longest", as_json=True) == 0
    assert '"accuracy": 1.0' in capsys.readouterr().out


def test_names_of_cases_that_are_numbers_and_many_numbers_are_read_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    lines = (f'{{"case_id": {n}, "verdict": "A", "latency_s": {n / 10}}}' for n in range(6))
    log.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(patterns, "_MOST", 1)
    assert [row.case_id for row in cases_of_log(log).rows] == ["0"]


def test_a_line_without_quoted_texts_is_as_it_was() -> None:
    assert unquoted({"schema": "x", "raw": "'a"}) == {"schema": "x", "raw": "'a"}
