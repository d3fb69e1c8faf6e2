from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from support.verified_pairs import DOCUMENT, NAMED, TAXONOMY, Verifier, pair, plans

from judgeharness_integrations.benchmark.folder import Asked, BenchmarkFolder, Journal, Settings, digest_of
from judgeharness_integrations.benchmark.pair import LayerResult, Verification
from judgeharness_integrations.cli import main
from judgeharness_integrations.judging.chatmodels import Completion
from judgeharness_integrations.reporting.schemas import schema

INCOHERENT = Verification(
    verifier="earlier",
    layers=(
        LayerResult(layer="form", status="passed"),
        LayerResult(layer="coherence", status="failed", reasons=("flaw: there is an answer",)),
    ),
)
MODELS = """
from support.verified_pairs import NAMED

async def checker(prompt):
    return await NAMED["checker"].complete(prompt)

async def other(prompt):
    return await NAMED["other"].complete(prompt)
"""
Said = tuple[int, str, str]


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    """Four pairs, one of them without conversations, not verified yet."""
    made = BenchmarkFolder(tmp_path / "bench")
    made.write_documents([DOCUMENT])
    made.write_taxonomy(TAXONOMY)
    made.write_settings(
        Settings(n=4, generator="writer", documents=digest_of([DOCUMENT]), taxonomy=digest_of([TAXONOMY]))
    )
    made.write_pairs([pair(0), pair(1), pair(2, conversations=None, verification=INCOHERENT), pair(3)])
    (tmp_path / "models.py").write_text(MODELS)
    return made


@pytest.fixture
def verify(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def run(verifier: Verifier, *options: object) -> Said:
        NAMED[verifier.name] = verifier
        spec = f"{folder.path.parent / 'models.py'}:{verifier.name}"
        code = main(["benchmark", "verify", str(folder.path), "--verifier", spec, *map(str, options)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def states(folder: BenchmarkFolder) -> list[str]:
    return [one.state for one in folder.pairs()]


def test_pairs_with_conversations_are_verified_and_the_others_stay(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    verifier = Verifier()
    code, out, err = verify(verifier)
    assert (code, err) == (0, "")
    assert states(folder) == ["accepted", "accepted", "rejected", "accepted"]
    assert folder.pairs()[2].verification == INCOHERENT
    assert sum(verifier.steps.values()) == 18
    assert (folder.settings().verifier, folder.settings().min_grounded) == ("checker", 1.0)
    assert "pairs with conversations: 3" in out
    assert "pairs without conversations, which stay as they are: 1" in out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith(("form", "coh", "gro"))}
    assert rows["form"] == ["4", "0", "0", "0", "4"]
    assert "accepted 3 of 4 pairs (75.0 %), rejected 1, unverified 0" in out
    assert "calls of this command: 18, retries included" in out
    assert f"next: judgeharness benchmark judge {folder.path}"[:60] in out


@pytest.mark.slow
def test_the_same_again_and_another_share_ask_nothing(folder: BenchmarkFolder, verify: Callable[..., Said]) -> None:
    verify(Verifier())
    before = (folder.path / "pairs.jsonl").read_bytes()
    again = Verifier()
    code, out, _ = verify(again)
    assert (code, again.prompts) == (0, [])
    assert (folder.path / "pairs.jsonl").read_bytes() == before
    assert "pairs with conversations: 3; every answer about 3 of them is known already" in out
    assert "0 calls: every answer was known; min_grounded 1" in out
    code, out, _ = verify(again, "--min-grounded", 0.5)
    assert (code, again.prompts) == (0, [])
    assert "0 calls: every answer was known; min_grounded 0.5 instead of 1" in out
    assert folder.settings().min_grounded == 0.5
    verify(again)
    assert folder.settings().min_grounded == 0.5


def test_another_share_and_back_gives_the_same_bytes_of_all_pairs(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    verify(Verifier())
    before = (folder.path / "pairs.jsonl").read_bytes()
    verify(Verifier(), "--min-grounded", 0.5)
    assert {pair.verification.min_grounded for pair in folder.pairs()} == {0.5}
    assert folder.pairs()[2].verification.verifier == "earlier"
    verify(Verifier(), "--min-grounded", 1)
    assert (folder.path / "pairs.jsonl").read_bytes() == before


@pytest.mark.slow
def test_without_a_verifier_the_answers_of_the_one_before_are_used(
    folder: BenchmarkFolder, verify: Callable[..., Said], capsys: pytest.CaptureFixture[str]
) -> None:
    def again(*options: object) -> Said:
        code = main(["benchmark", "verify", str(folder.path), *map(str, options)])
        said = capsys.readouterr()
        return code, said.out, said.err

    code, _, err = again()
    assert (code, err) == (
        2,
        f"error: {folder.path} has not been verified yet: name who checks, as --verifier MODEL.\n",
    )
    verify(Verifier())
    code, out, err = again("--min-grounded", 0.5)
    assert (code, err) == (0, "")
    assert "0 calls: every answer was known; min_grounded 0.5 instead of 1" in out
    assert (folder.settings().verifier, folder.settings().min_grounded) == ("checker", 0.5)
    before = (folder.path / "pairs.jsonl").read_bytes()
    folder.write_pairs([*folder.pairs(), pair(4)])
    code, _, err = again()
    assert (code, err) == (
        2,
        "error: 1 of 4 pairs need answers that checker has not given: name it as --verifier MODEL.\n",
    )
    folder.write_pairs(folder.pairs()[:4])
    assert (folder.path / "pairs.jsonl").read_bytes() == before
    folder.write_settings(folder.settings().model_copy(update={"verifier": "nobody"}))
    code, _, err = again()
    assert (code, "the answers that nobody gave about" in err) == (2, True)


@pytest.mark.slow
def test_another_verifier_replaces_the_verification(folder: BenchmarkFolder, verify: Callable[..., Said]) -> None:
    verify(Verifier())
    found = Verifier.adherence(worse_flaws=[{"round": 3, "type": "evasion", "what": "no hour is named"}])
    code, out, _ = verify(Verifier({"adherence": found}, name="other"))
    assert code == 0
    assert states(folder) == ["rejected"] * 4
    assert folder.pairs()[0].verification.verifier == "other"
    assert folder.settings().verifier == "other"
    assert "the flaw is in turn 3, declared 2" in out
    assert "and 2 alike" in out
    assert "next: judgeharness benchmark stats" in out
    assert "checker" in out  # what the first one took
    verifier = Verifier()
    verify(verifier)
    assert states(folder) == ["accepted", "accepted", "rejected", "accepted"]
    assert not verifier.prompts


def test_pairs_another_verifier_did_not_come_to_are_said_to_be_as_they_were(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    assert "not verified" not in verify(Verifier())[1]
    code, out, _ = verify(Verifier(name="other"), "--max-calls", 8, "--max-concurrency", 1)
    assert code == 3
    assert "2 of them are not verified by other yet, and counted as they were before" in out


def test_documents_that_lost_one_are_one_sentence(folder: BenchmarkFolder, verify: Callable[..., Said]) -> None:
    folder.write_documents([])
    code, _, err = verify(Verifier())
    where = folder.path / "documents.jsonl"
    told = f"error: {where} is not what this benchmark was made with: restore it, or make the benchmark anew.\n"
    assert (code, err) == (2, told)
    folder.write_settings(folder.settings().model_copy(update={"documents": digest_of([])}))
    code, _, err = verify(Verifier())
    assert code == 2
    assert err.startswith("error: pair-00001 needs chunk 'library#")
    assert "which documents.jsonl does not hold: restore it." in err


@pytest.mark.parametrize(("kind", "what"), [("failure_types", "failure type"), ("behaviours", "behaviour")])
def test_a_taxonomy_that_lost_something_is_one_sentence(
    kind: str, what: str, folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    folder.write_taxonomy(folder.taxonomy().model_copy(update={kind: {}}))
    code, _, err = verify(Verifier())
    assert code == 2
    assert f"needs {what} " in err
    assert "which taxonomy.json does not hold: restore it." in err


def test_a_spent_budget_leaves_the_rest_as_it_was_and_the_same_command_goes_on(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    first = Verifier()
    code, out, err = verify(first, "--max-calls", 8, "--max-concurrency", 1)
    assert code == 3
    assert "2 of 3 pairs are unfinished: --max-calls=8 reached; what was answered is kept" in err
    assert "upper limit: 8 calls, retries included" in out
    assert states(folder) == ["accepted", "unverified", "rejected", "unverified"]
    assert folder.settings().verifier is None
    second = Verifier()
    code, out, _ = verify(second)
    assert code == 0
    assert len(first.prompts) == 8
    assert len(second.prompts) == 10
    assert "pairs with conversations: 3; every answer about 1 of them is known already" in out
    assert states(folder) == ["accepted", "accepted", "rejected", "accepted"]


def test_a_verifier_that_cannot_be_asked_leaves_pairs_unfinished(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    code, _, err = verify(Verifier({"adherence": ValueError("no such model")}))
    assert code == 3
    assert err.startswith("3 of 3 pairs are unfinished: adherence of pair-0000")
    assert "ValueError: no such model (models.py, line 5); what was answered is kept" in err
    assert states(folder) == ["unverified", "unverified", "rejected", "unverified"]


def test_answers_that_cannot_be_read_are_counted_with_their_reason(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    code, out, _ = verify(Verifier({"coherence": Completion(text="no", ended="refused")}))
    assert code == 0
    assert states(folder) == ["unverified", "unverified", "rejected", "unverified"]
    assert "the model refused" in out
    assert "another --verifier begins anew" in out
    assert "accepted 0 of 4 pairs (0.0 %), rejected 1, unverified 3" in out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("concurrency", [16, 2])
def test_the_file_of_pairs_is_the_same_at_any_concurrency(
    folder: BenchmarkFolder, verify: Callable[..., Said], concurrency: int
) -> None:
    verify(Verifier(), "--max-concurrency", 1)
    expected = (folder.path / "pairs.jsonl").read_bytes()
    for name in ("answers.sqlite", "answers.sqlite-wal", "answers.sqlite-shm"):
        (folder.path / name).unlink(missing_ok=True)
    folder.write_pairs([pair(0), pair(1), pair(2, conversations=None, verification=INCOHERENT), pair(3)])
    verify(Verifier(), "--max-concurrency", concurrency)
    assert (folder.path / "pairs.jsonl").read_bytes() == expected


def test_the_document_is_what_its_schema_says(folder: BenchmarkFolder, verify: Callable[..., Said]) -> None:
    prices = folder.path.parent / "models.yaml"
    prices.write_text("prices: {'*': {input: 1, output: 2}}")
    spent = Completion(text="", parsed={"claims": []}, input_tokens=1000, output_tokens=500)
    code, out, err = verify(Verifier({"claims": spent}), "--json", "--models", prices)
    document = json.loads(out)
    jsonschema.validate(document, schema("judgeharness.benchmark_verify/1"))
    assert code == 0
    assert "checker" in err
    assert document["counts"] == {"accepted": 0, "rejected": 4, "unverified": 0}
    assert document["layers"][3] == {
        "layer": "grounding",
        "pairs": 4,
        "passed": 0,
        "failed": 3,
        "unread": 0,
        "not_run": 1,
    }
    unchecked = "no claim of the worse conversation could be checked"
    reason = {"layer": "grounding", "status": "failed", "pairs": 3, "reason": unchecked, "example": "pair-00001"}
    assert reason in document["reasons"]
    assert document["not_verified_yet"] == 0
    steps = {step["step"]: step for step in document["cost"]["steps"]}
    assert steps["claims"]["cost"] == pytest.approx(6 * 0.002)
    assert steps["coherence"]["cost"] is None
    assert document["cost"]["cost"] is None
    code, out, _ = verify(Verifier(name="other"), "--json", "--max-calls", 1)
    jsonschema.validate(json.loads(out), schema("judgeharness.benchmark_verify/1"))
    assert (code, json.loads(out)["state"], json.loads(out)["unfinished"]) == (3, "unfinished", 3)
    assert json.loads(out)["not_verified_yet"] == 3


def test_hostile_words_of_a_verifier_do_not_steer_the_terminal(
    folder: BenchmarkFolder, verify: Callable[..., Said]
) -> None:
    answer = {"coherent": False, "conflicts": [{"what": "\x1b[2J[red]gone\u202e", "reason": "\ud800"}]}
    code, out, _ = verify(Verifier({"coherence": answer}))
    assert code == 0
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]gone" in out


@pytest.mark.parametrize("share", ["1.5", "-0.1", "nan"])
def test_a_share_must_be_one(verify: Callable[..., Said], share: str) -> None:
    code, _, err = verify(Verifier(), f"--min-grounded={share}")
    assert code == 2
    assert f"--min-grounded is a share between 0 and 1, not {share}." in err


def test_a_folder_without_conversations_says_what_to_do(folder: BenchmarkFolder, verify: Callable[..., Said]) -> None:
    folder.write_pairs([pair(0, conversations=None, blueprints=plans())])
    code, _, err = verify(Verifier())
    assert code == 2
    assert "holds no pair with conversations yet: write them with judgeharness benchmark generate" in err


def test_a_folder_that_is_none_and_a_price_that_is_missing_are_usage(
    folder: BenchmarkFolder, verify: Callable[..., Said], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["benchmark", "verify", str(tmp_path / "nowhere"), "--verifier", "x.py:y"]) == 2
    assert "holds no benchmark: make one with" in capsys.readouterr().err
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices: {gpt-4o: {input: 1, output: 2}}")
    code, _, err = verify(Verifier(), "--models", prices, "--max-cost", 1)
    assert code == 2
    assert "there is no price for model 'checker'" in err


def test_a_folder_that_is_being_written_is_left_alone(folder: BenchmarkFolder, verify: Callable[..., Said]) -> None:
    with folder.held():
        code, _, err = verify(Verifier())
    assert code == 2
    assert "is being written by another process" in err


def test_an_interrupt_before_the_first_call_keeps_what_is_known_and_asks_nothing(
    folder: BenchmarkFolder, verify: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    verify(Verifier(), "--max-calls", 6, "--max-concurrency", 1)
    folder.write_pairs([pair(0), pair(1)])
    found = Journal.find

    def interrupted(journal: Journal, asked: Asked) -> Completion | None:
        monkeypatch.setattr(Journal, "find", found)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)  # the handler runs in the main thread
        return found(journal, asked)

    monkeypatch.setattr(Journal, "find", interrupted)
    verifier = Verifier()
    code, out, err = verify(verifier, "--json")
    assert (code, json.loads(out)["state"], json.loads(out)["unfinished"]) == (130, "interrupted", 1)
    assert "interrupted: 1 of 2 pairs are unfinished" in err
    assert not verifier.prompts
    assert states(folder) == ["accepted", "unverified"]
