"""`judgeharness benchmark judge`: asked, resumed, summed up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.benchmark_results import make_benchmark, verification
from support.openai_server import OpenAIServer, Reply, Request

from judgeharness_integrations._errors import RunBusyError, UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.cli import main
from judgeharness_integrations.cli.benchmark.judge import explain_other_questions
from judgeharness_integrations.reporting.schemas import schema
from judgeharness_integrations.verdictlog import SqlLog

Serve = Callable[..., OpenAIServer]
JUDGES = '''
import json, os, pathlib

HERE = pathlib.Path(__file__).parent
GOLD = json.loads((HERE / "gold.json").read_text())
FAILS = HERE / "fails"
CALLS = HERE / "calls"


def _seen(prompt):
    with CALLS.open("a") as file:
        file.write(prompt.step + "\\n")
    return next(pair for name, pair in GOLD.items() if name in prompt.user)


def strong(prompt):
    """Right about everything, in any order."""
    gold = _seen(prompt)
    flawed = {"turn": gold["turn"], "type": gold["type"]}
    if prompt.step == "judge_conversation":
        if "worse." in prompt.user:
            return {"reasoning": "it has a flaw", "score": 2, "flawed": True, **flawed}
        return {"reasoning": "fine", "score": 5, "flawed": False, "turn": None, "type": None}
    first = prompt.user.partition("Conversation B")[0]
    return {"reasoning": "so", "verdict": "A" if "better." in first else "B", **flawed}


def first(prompt):
    """Nothing but position bias."""
    return {"verdict": "A", "turn": _seen(prompt)["turn"], "type": "evasion"}


def flaky(prompt):
    """Fails as long as there is a file that says so."""
    if FAILS.exists() and GOLD_NUMBER(prompt) % 3 == 0:
        raise ValueError("no answer today")
    return strong(prompt)


def GOLD_NUMBER(prompt):
    return next(number for number, name in enumerate(GOLD) if name in prompt.user)


def mumbling(prompt):
    _seen(prompt)
    return "The second one, I think."


class WrongKeyError(Exception):
    status_code = 401


def locked(prompt):
    """Is down as long as there is a file that says so."""
    if FAILS.exists():
        _seen(prompt)
        raise WrongKeyError("no such key")
    return strong(prompt)


def killer(prompt):
    if len(CALLS.read_text().splitlines()) == 25:
        os.kill(os.getpid(), __import__("signal").SIGINT)
    return strong(prompt)
'''


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    made = make_benchmark(
        tmp_path / "bench", n=12, failed={2: verification("grounding"), 5: verification("grounding", unread=True)}
    )
    gold = {
        pair.pair_id: {"turn": pair.conditions.flawed_round, "type": pair.conditions.failure_type}
        for pair in made.pairs()
    }
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    (tmp_path / "judges.py").write_text(JUDGES)
    (tmp_path / "calls").touch()
    return made


def judge(folder: BenchmarkFolder, *names: str, more: tuple[object, ...] = (), mode: str = "pairwise") -> int:
    specs = ",".join(f"{folder.path.parent}/judges.py:{name}" for name in names)
    return main(["benchmark", "judge", str(folder.path), "--judges", specs, "--mode", mode, "--yes", *map(str, more)])


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("benchmark_judge-1")).validate(found)
    return found


def calls(folder: BenchmarkFolder) -> int:
    return len((folder.path.parent / "calls").read_text().splitlines())


def rights(found: dict[str, Any]) -> dict[tuple[str, str], list[int]]:
    names = ("verdict", "turn", "type", "joint")
    return {
        (one["judge"], one["mode"]): [*(one[name]["right"] for name in names), one["joint"]["of"]]
        for one in found["judges"]
    }


@pytest.mark.slow
def test_judges_in_both_modes(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(folder, "strong", "first", mode="both", more=("--json", "--repetitions", 1)) == 0
    found = document(capsys)
    typed = sum(pair.conditions.failure_type == "evasion" for pair in folder.pairs() if pair.state == "accepted")
    assert rights(found) == {
        ("strong", "pairwise"): [10, 10, 10, 10, 10],
        ("first", "pairwise"): [0, 10, typed, 0, 10],
        ("strong", "pointwise"): [10, 10, 10, 10, 10],
        ("first", "pointwise"): [0, 0, 0, 0, 10],  # it gives no scores
    }
    assert found["rules"] == {"pairwise": "swap_consensus", "pointwise": "majority | median"}
    assert (found["state"], found["planned_calls"], found["whole_calls"], found["pairs"]) == ("complete", 80, 80, 10)
    assert (found["informal"], calls(folder)) == (False, 80)
    with folder.log() as log:
        rows = list(log.rows(run="pairwise", judge="strong"))
    assert len(rows) == 60
    assert {row.gold for row in rows if row.criterion == "turn"} <= {f"turn {n}" for n in range(1, 6)}
    assert all({"failure_type", "domain", "n_rounds", "length_a"} <= set(row.attributes) for row in rows)
    lines = (folder.path / "judgments.jsonl").read_text().splitlines()
    assert len(lines) == 40


@pytest.mark.slow
def test_nothing_is_asked_twice_and_files_do_not_depend_on_concurrency(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(folder, "strong", "first", more=("--max-concurrency", 1)) == 0
    assert calls(folder) == 40
    kept = (folder.path / "judgments.jsonl").read_bytes()
    assert judge(folder, "strong", "first", more=("--max-concurrency", 16)) == 0
    assert calls(folder) == 40
    assert (folder.path / "judgments.jsonl").read_bytes() == kept
    folder.verdicts.unlink()
    assert judge(folder, "first", "strong", more=("--max-concurrency", 16)) == 0
    assert (folder.path / "judgments.jsonl").read_bytes() == kept
    assert "answered" in capsys.readouterr().out


@pytest.mark.slow
def test_the_summary_says_whom_what_and_what_comes_next(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(folder, "strong", "first", more=("--orders", "one")) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "20 calls: every judge about every pair" in told
    assert "pairwise: one order, informal: what an answer owes to the order" in told
    assert "rule majority; 1 call a pair" in told
    assert "pairwise, majority, informal: right, in % of the pairs" in told
    assert "100.0" in told
    assert "[72, 100]" in told  # Wilson's of 10 of 10
    assert f"next: judgeharness benchmark rank {folder.path}" in told
    assert "no upper limit given" in told


@pytest.mark.slow
def test_a_fraction_asks_a_part_of_the_pairs(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--fraction", 0.4, "--seed", 7)
    assert judge(folder, "strong", "first", more=more) == 0
    assert "16 of 40 calls; --fraction 0.4 saves 24 (60.0 %)" in capsys.readouterr().out
    assert judge(folder, "strong", "first", more=(*more, "--json")) == 0
    found = document(capsys)
    assert [one["pairs"] for one in found["judges"]] == [4, 4]
    assert (found["planned_calls"], found["whole_calls"], calls(folder)) == (16, 40, 16)


@pytest.mark.slow
def test_a_sample_limits_the_pairs(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder.path / "s.json"
    assert main(["benchmark", "sample", str(folder.path), "--n", "5", "--out", str(file)]) == 0
    capsys.readouterr()
    assert judge(folder, "strong", more=("--sample", file)) == 0
    assert f"10 of 20 calls; --sample {file} saves 10 (50.0 %)" in " ".join(capsys.readouterr().out.split())
    assert judge(folder, "strong", more=("--sample", file, "--fraction", 0.4, "--json")) == 0
    assert document(capsys)["planned_calls"] == 4
    assert judge(folder, "strong", more=("--sample", file, "--states", "unverified")) == 2
    assert "5 of its pairs, as pair-00004, are not among those to be judged" in capsys.readouterr().err
    file.write_text("{")
    assert judge(folder, "strong", more=("--sample", file)) == 2
    assert "line 1 is no JSON" in capsys.readouterr().err
    file.write_text('{"n": 1}')
    assert judge(folder, "strong", more=("--sample", file)) == 2
    assert "s.json: by: Field required" in capsys.readouterr().err
    for text, words in (("", "s.json holds no pairs"), ("[1]", "line 1 is no pair"), ("{}\n{}", "line 1 is no pair")):
        file.write_text(text)
        assert judge(folder, "strong", more=("--sample", file)) == 2
        assert words in capsys.readouterr().err
    assert judge(folder, "strong", more=("--sample", file.with_name("none"))) == 2
    assert "cannot be read (No such file or directory): give sample.json or a JSONL" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_of_pairs_is_a_sample(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder.path / "some.jsonl"
    some = folder.pairs()[7:9]
    for lines in (
        [pair.to_dict() for pair in some],
        [{"id": pair.pair_id, "convo_a": []} for pair in some],
        [{"case_id": pair.pair_id, "output": "a"} for pair in some],
    ):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert judge(folder, "strong", more=("--sample", file, "--json")) == 0
        assert document(capsys)["planned_calls"] == 4
    assert calls(folder) == 4


def test_documents_that_changed_are_not_shown_to_judges(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write_documents(folder.documents()[::-1])
    assert judge(folder, "strong") == 2
    assert "documents.jsonl is not what this benchmark was made with: restore it" in capsys.readouterr().err
    assert calls(folder) == 0


@pytest.mark.slow
def test_what_failed_is_asked_again_and_stays_on_record(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = folder.path.parent / "fails"
    fails.touch()
    assert judge(folder, "flaky", more=("--json",)) == 3
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    (one,) = found["judges"]
    assert one["unanswered_calls"] == 8
    assert one["joint"] == {
        "right": 6,
        "of": 6,  # the pairs about which a call failed are missing
        "low": pytest.approx(0.610, abs=1e-3),
        "high": 1.0,
    }
    assert one["failures"] == [{"outcome": "error", "error": "ValueError: no answer today", "count": 8}]
    assert "flaky: 8 samples: error, ValueError: no answer today" in captured.err
    assert "8 of 20 calls have no answer: what was answered is kept, and the same command goes on" in captured.err
    fails.unlink()
    assert judge(folder, "flaky", more=("--json",)) == 0
    assert rights(document(capsys)) == {("flaky", "pairwise"): [10, 10, 10, 10, 10]}
    assert calls(folder) == 20
    with folder.log() as log:
        assert {row.outcome for row in log.rows(run="pairwise")} == {"ok"}
        assert len(list(log.rows(run="pairwise/failed/1"))) == 24  # eight calls about three criteria


@pytest.mark.slow
def test_a_judge_that_is_down_is_told_and_asked_again(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = folder.path.parent / "fails"
    fails.touch()
    assert judge(folder, "locked", "first", more=("--json",)) == 3
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    Draft202012Validator(schema("benchmark_judge-1")).validate(found)
    assert (found["state"], [one["unanswered_calls"] for one in found["judges"]]) == ("judge_down", [20, 0])
    assert calls(folder) == 3 + 20
    why = (
        "judge 'locked' is down: no call was answered, and 3 failed with WrongKeyError: no such key; check its API key"
    )
    assert f"20 of 40 calls have no answer ({why}): what was answered is kept" in captured.err
    fails.unlink()
    assert judge(folder, "locked", "first", more=("--json",)) == 0
    assert document(capsys)["state"] == "complete"
    assert calls(folder) == 3 + 20 + 20


@pytest.mark.slow
def test_failed_calls_are_set_aside_once_each(folder: BenchmarkFolder) -> None:
    (folder.path.parent / "fails").touch()
    for _ in range(3):
        assert judge(folder, "flaky") == 3
    with folder.log() as log:
        assert {run: len(list(log.rows(run=run))) for run in log.run_ids()} == {
            "pairwise": 60,
            "pairwise/failed/1": 24,
            "pairwise/failed/2": 24,
        }
        assert log.set_failed_aside(run="pairwise", judge="flaky", case_ids=["pair-00002"]) == 0
        assert log.set_failed_aside(run="pairwise", judge="flaky", case_ids=["pair-00001"]) == 6


def test_answers_that_cannot_be_read_are_wrong_and_no_failure_of_the_run(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(folder, "mumbling", more=("--json",)) == 0
    found = document(capsys)
    assert rights(found) == {("mumbling", "pairwise"): [0, 0, 0, 0, 10]}
    assert found["judges"][0]["failures"] == [{"outcome": "unparsed", "error": None, "count": 20}]
    assert found["judges"][0]["took"]["cost"] is None


@pytest.mark.slow
def test_failures_in_two_modes_are_told_apart(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(folder, "mumbling", mode="both") == 0
    told = ["mumbling (pairwise): 20 samples: unparsed", "mumbling (pointwise): 20 samples: unparsed"]
    assert capsys.readouterr().err.splitlines() == told
    assert judge(folder, "mumbling") == 0
    assert capsys.readouterr().err == "mumbling: 20 samples: unparsed\n"


@pytest.mark.slow
def test_a_budget_that_ends_leaves_the_rest_for_the_next_time(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(folder, "strong", "first", more=("--max-calls", 15, "--max-concurrency", 1)) == 3
    captured = capsys.readouterr()
    assert "upper limit: 15 calls, retries included" in captured.out
    assert "25 of 40 calls have no answer (--max-calls=15 reached)" in captured.err
    told = " ".join(captured.out.split())
    assert "7 of 10" in told  # a pair one order of which was shown counts as not asked
    assert "0 of 10" in told
    assert judge(folder, "strong", "first", more=("--max-calls", 0, "--json")) == 3
    found = document(capsys)
    assert (found["state"], found["budget_reason"]) == ("budget_exhausted", "--max-calls=0 reached")
    assert found["judges"][1]["joint"] == {"right": 0, "of": 0, "low": None, "high": None}
    assert judge(folder, "strong", "first") == 0
    assert calls(folder) == 40


@pytest.fixture
def interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_what_was_answered(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(folder, "strong") == 0
    capsys.readouterr()
    assert judge(folder, "killer", more=("--max-concurrency", 1, "--json")) == 130
    captured = capsys.readouterr()
    assert "interrupted: " in captured.err
    assert "calls are left; what was answered is kept, and the same command goes on from there." in captured.err
    assert json.loads(captured.out)["state"] == "interrupted"
    assert judge(folder, "killer", "strong") == 0


def test_a_termination_keeps_what_was_answered(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgeharness_integrations.cli.benchmark import judge as _judge

    def terminated(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(_judge._Judging, "_ask_one", terminated)
    assert judge(folder, "strong") == 143
    assert "terminated: 20 of 20 calls are left" in capsys.readouterr().err


@pytest.mark.slow
def test_a_judge_that_changed_is_told_apart(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(folder, "strong") == 0
    assert judge(folder, "first", "strong", more=("--no-documents",)) == 2
    error = capsys.readouterr().err
    assert "judge 'strong' was asked before with other options, another taxonomy or other documents" in error
    assert "or before its file was changed: ask as before, give a changed function another name, or judge in" in error
    assert len((folder.path / "judgments.jsonl").read_text().splitlines()) == 20  # what 'first' said is there
    assert judge(folder, "strong", more=("--repetitions", 2)) == 0
    assert calls(folder) == 60


def test_other_errors_of_a_run_are_told_as_they_are() -> None:
    error = UsageError("the rule does not fit.")
    explain_other_questions(error, "strong")
    assert str(error) == "the rule does not fit."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judges", ""), "--judges names no model"),
        (("--judges", "judges.py:strong,judges.py:strong"), "--judges names 'strong' twice"),
        (("--judges", "nowhere.py:strong"), "nowhere.py does not exist"),
        (("--states", "acepted"), "unknown state 'acepted': did you mean 'accepted'"),
        (("--states", ""), "unknown state ''"),
        (("--fraction", "1.5"), "a fraction is above 0 and at most 1, not 1.5"),
        (("--max-cost", "1"), "--max-cost needs prices per million tokens"),
        (("--models", "prices.yaml", "--max-cost", "1"), "there is no price for model 'strong'"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    folder: BenchmarkFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(folder.path.parent)
    Path("prices.yaml").write_text("prices: {gpt-4o: {input: 1, output: 1}}")
    assert main(["benchmark", "judge", "bench", "--judges", "judges.py:strong", *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert calls(folder) == 0


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"n": 0}, "holds no pairs yet: make some with judgeharness benchmark generate"),
        (
            {"n": 2, "failed": dict.fromkeys(range(2), verification("form"))},
            "is accepted: there are 2 rejected; make more",
        ),
        (
            {"n": 2, "failed": {0: verification("form"), 1: verification("grounding", unread=True)}},
            "there are 1 rejected, 1 unverified; check them with judgeharness benchmark verify, or give --states",
        ),
    ],
)
def test_no_pair_to_judge_names_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: dict[str, Any], words: str
) -> None:
    make_benchmark(tmp_path / "bench", **made)
    (tmp_path / "judges.py").write_text("def strong(prompt): ...")
    assert judge(BenchmarkFolder(tmp_path / "bench"), "strong") == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert judge(BenchmarkFolder(tmp_path / "nowhere"), "strong") == 2
    assert "holds no benchmark" in capsys.readouterr().err


def test_pairs_that_ended_before_their_conversations_cannot_be_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_benchmark(tmp_path / "bench", n=2, failed=dict.fromkeys(range(2), verification("form")))
    made.write_pairs(pair.model_copy(update={"conversations": None}) for pair in made.pairs())
    (tmp_path / "judges.py").write_text("def strong(prompt): ...")
    assert judge(made, "strong", more=("--states", "accepted,rejected")) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "that is accepted or rejected has conversations to be judged: there are 2 rejected, and the 2 that" in told


def test_unverified_pairs_on_demand(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(folder, "strong", more=("--states", "unverified, accepted", "--json")) == 0
    found = document(capsys)
    assert (found["pairs"], found["states"]) == (11, ["accepted", "unverified"])


def test_a_folder_that_another_process_writes_is_left_alone(folder: BenchmarkFolder) -> None:
    with folder.held(), pytest.raises(RunBusyError), BenchmarkFolder(folder.path).held():
        pass
    with folder.held():
        assert judge(folder, "strong") == 2


@pytest.mark.slow
def test_real_clients_prices_and_a_cost(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str], openai_server: Serve
) -> None:
    def answer(request: Request) -> Reply:
        if request.number == 0:
            return Reply.status(429, retry_after=0.01)
        assert '"verdict"' in json.dumps(request.schema)
        return Reply.json({"reasoning": "r", "verdict": "A", "turn": 1, "type": "evasion"})

    server = openai_server(answer)
    options = {"base_url": f"{server.url}/v1", "api_key": "sk-secret-one", "max_retries": 0}
    models = {"options": {"*": options}, "prices": {"openai:gpt-4o": {"input": 100, "output": 100}}}
    file = folder.path.parent / "models.yaml"
    file.write_text(json.dumps(models))
    asked = ["benchmark", "judge", str(folder.path), "--judges", "openai:gpt-4o", "--models", str(file), "--yes"]
    assert main([*asked, "--max-cost", "5", "--json"]) == 0
    (one,) = document(capsys)["judges"]
    assert one["judge"] == "openai:gpt-4o"
    assert (one["took"]["calls"], one["took"]["attempts"], server.calls) == (20, 21, 21)
    assert one["took"]["cost"] == pytest.approx((one["took"]["input_tokens"] + one["took"]["output_tokens"]) / 10_000)
    assert main([*asked, "--max-cost", "5"]) == 0
    assert server.calls == 21
    assert f"{one['took']['cost']:.4f}" in capsys.readouterr().out
    with SqlLog(folder.verdicts) as log:
        assert "sk-secret" not in repr(list(log.rows()))


@pytest.mark.slow
def test_a_rate_limit_that_stays_is_told_without_keys(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str], openai_server: Serve
) -> None:
    server = openai_server([Reply.status(401, message="no access with sk-secret-one")])
    options = {"base_url": f"{server.url}/v1", "api_key": "sk-secret-one", "max_retries": 0}
    file = folder.path.parent / "models.yaml"
    file.write_text(json.dumps({"options": {"openai:gpt-4o": options}}))
    asked = ["benchmark", "judge", str(folder.path), "--judges", "openai:gpt-4o", "--models", str(file), "--yes"]
    assert main(asked) == 3
    captured = capsys.readouterr()
    assert "AuthenticationError" in captured.err
    assert "sk-secret" not in captured.err + captured.out


@pytest.mark.slow
def test_help_loads_nothing_heavy() -> None:
    async def modules() -> str:
        program = "import sys; from judgeharness_integrations.cli import main; main(['benchmark', 'judge', '--help'])"
        program += "; sys.stderr.write(' '.join(sys.modules))"
        done = await asyncio.create_subprocess_exec(
            os.sys.executable,  # type: ignore[attr-defined]
            "-c",
            program,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        return (await done.communicate())[1].decode()

    assert not {"sqlalchemy", "numpy", "jinja2", "langchain_core"} & set(asyncio.run(modules()).split())
