"""The command: what it asks, writes, prints, refuses, and how it goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from jsonschema import Draft202012Validator
from support.benchmark_scripted import Scripted, answer_to

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder, Settings
from judgeharness_integrations.cli import main
from judgeharness_integrations.cli.benchmark import asking
from judgeharness_integrations.cli.benchmark import generate as _generate
from judgeharness_integrations.cli.benchmark.asking import Outcome
from judgeharness_integrations.judging.adapters import chat_model
from judgeharness_integrations.judging.chatmodels import Prompt
from judgeharness_integrations.reporting.schemas import schema

MODELS = """
from support.benchmark_scripted import Scripted
writer, checker, other = Scripted("writer"), Scripted("checker"), Scripted("other")
"""
built = cache(typer.main.get_command)  # once for all tests: it takes longer than what most of them look at
FILES = ("benchmark.json", "documents.jsonl", "taxonomy.json", "pairs.jsonl")
LIBRARY = "# Loans\n\nBooks are lent for 21 days. A film is lent for 7 days and costs 1 euro.\n"
GARDEN = "# Plots\n\nA plot costs 40 euros a year. Water is turned off from November to March.\n"


@dataclass
class Place:
    """A folder with documents and models, and the command run in it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    err: str = ""
    out: str = ""
    made: int = field(default=0)

    @property
    def writer(self) -> Scripted:
        return self.model("writer")

    @property
    def checker(self) -> Scripted:
        return self.model("checker")

    def model(self, name: str) -> Scripted:
        model = chat_model(f"{self.folder / 'models.py'}:{name}")
        assert isinstance(model, Scripted)
        return model

    @property
    def asked(self) -> int:
        """How many calls were made since this was read last."""
        before, self.made = self.made, sum(len(self.model(name).prompts) for name in ("writer", "checker", "other"))
        return self.made - before

    def run(self, *options: object, n: int = 6, generator: str = "writer", verifier: str | None = "checker") -> int:
        self.capsys.readouterr()
        models = self.folder / "models.py"
        checked = [] if verifier is None else ["--verifier", f"{models}:{verifier}"]
        out = [] if "--out" in options else ["--out", self.folder / "bench"]
        given = ["benchmark", "generate", self.folder / "docs", "--generator", f"{models}:{generator}", "--n", n]
        code = main([str(part) for part in (*given, *checked, *out, *options)])
        self.out, self.err = self.capsys.readouterr()
        return code

    def files(self, name: str = "bench") -> dict[str, bytes]:
        return {file: (self.folder / name / file).read_bytes() for file in FILES}


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(typer.main, "get_command", built)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "library.md").write_text(LIBRARY)
    (tmp_path / "docs" / "garden.md").write_text(GARDEN)
    (tmp_path / "models.py").write_text(MODELS)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore them
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield Place(tmp_path, capsys)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_pairs_are_written_verified_and_told(place: Place) -> None:
    assert place.run() == 0
    assert place.asked == 6 * 9
    folder = BenchmarkFolder(place.folder / "bench")
    assert [pair.pair_id for pair in folder.pairs()] == [f"pair-{number:05d}" for number in range(1, 7)]
    assert {pair.state for pair in folder.pairs()} == {"accepted"}
    settings = folder.settings()
    assert (settings.n, settings.generator, settings.verifier, settings.min_grounded) == (6, "writer", "checker", 1.0)
    assert "accepted" in place.out
    assert "100.0" in place.out
    assert "conversation_better  writer" in place.out
    assert f"next: judgeharness benchmark judge {place.folder / 'bench'} --judges MODEL,..." in place.out
    assert place.err == ""


@pytest.mark.slow
def test_the_plan_comes_first(place: Place) -> None:
    assert place.run(n=4) == 0
    plan, _, rest = place.out.partition("pairs: 4; each prompt holds about ")
    assert [line.split() for line in plan.splitlines() if line.startswith(("blueprints", "claims", "together"))] == [
        ["blueprints", "writer", "1", "4", "12"],
        ["claims", "checker", "2", "8", "24"],
        ["together", "9", "36", "108"],
    ]
    assert "characters of 2 documents" in rest
    assert "no upper limit given" in rest
    assert place.run("--max-calls", 5, n=4) == 0  # every answer is known
    assert "pairs: 4, 4 of them made before" in place.out
    assert "answers kept from before: 36" in place.out
    assert "upper limit: 5 calls, retries included" in place.out


def test_without_a_verifier_the_next_step_is_to_verify(place: Place) -> None:
    assert place.run(verifier=None) == 0
    assert place.asked == 6 * 3
    assert "unverified: there was no verifier" in place.out
    assert "benchmark verify" in place.out


@pytest.mark.slow
def test_the_same_answers_give_the_same_bytes_at_any_concurrency(place: Place) -> None:
    place.writer.delays = place.checker.delays = True
    for concurrency in (1, 16):
        assert place.run("--max-concurrency", concurrency, "--out", place.folder / str(concurrency)) == 0
        assert max(place.writer.in_flight_max, place.checker.in_flight_max) <= concurrency
    assert place.writer.in_flight_max > 1
    assert place.files("1") == place.files("16")


@pytest.mark.slow
def test_the_same_command_asks_nothing_twice(place: Place) -> None:
    assert place.run() == 0
    before, _ = place.files(), place.asked
    assert place.run() == 0
    assert (place.asked, place.files()) == (0, before)
    assert "calls of this command: 0," in place.out


@pytest.mark.slow
def test_a_higher_number_adds_pairs_and_leaves_those_there_are(place: Place) -> None:
    assert place.run(n=3) == 0
    assert place.asked == 3 * 9
    before = place.files()["pairs.jsonl"]
    assert place.run(n=5) == 0
    assert place.asked == 2 * 9
    assert place.files()["pairs.jsonl"].startswith(before)
    assert place.run(n=4) == 2
    assert "bench was made with --n 5, which can only grow, not 4: give what it was made with" in place.err


def test_json_follows_its_schema_and_stands_alone_on_standard_output(place: Place) -> None:
    def bad(prompt: Prompt) -> Any:
        return "..." if prompt.step == "conversation_worse" and len(place.writer.prompts) % 2 else None

    place.writer.instead = bad
    place.writer.tokens = place.checker.tokens = 1_000_000
    (place.folder / "models.yaml").write_text("prices: {'*': {input: 1, output: 2}}\n")
    assert place.run("--json", "--models", place.folder / "models.yaml") == 0
    document = json.loads(place.out)
    Draft202012Validator(schema("benchmark_generate-1")).validate(document)
    assert sum(document["counts"].values()) == document["planned"] == 6
    assert document["cost"]["cost"] == 3 * place.asked == 3 * document["calls"]
    accepted = document["counts"]["accepted"]
    assert document["cost_per_accepted"] == pytest.approx(document["cost"]["cost"] / accepted)
    assert "plan" in place.err


def test_what_was_rejected_is_told_with_its_reason(place: Place) -> None:
    place.writer.instead = lambda prompt: {"turns": []} if prompt.step == "conversation_worse" else None
    assert place.run(n=2) == 0
    assert "malformed" in place.out
    reason = re.search(r"form +the worse conversation cannot be used [(].*; 3 answers[)] +pair-00001 +(.*)", place.out)
    assert reason is not None
    assert reason[1].strip() == "and 1 alike"
    assert "a pair that was rejected for several reasons stands under each of them" in place.out
    (top,) = (line for line in place.out.splitlines() if line.startswith("no pair was accepted: look first at form, "))
    assert top.endswith(" (2 of 2)")
    assert f"next: judgeharness benchmark show {place.folder / 'bench'} pair-00001" in place.out


def test_where_nothing_was_accepted_the_way_to_see_it_is_told(place: Place) -> None:
    place.writer.instead = lambda prompt: {} if prompt.step == "blueprints" else None
    assert place.run(n=1, verifier=None) == 0
    assert "look first at form" in place.out
    assert "benchmark verify" not in place.out
    place.writer.instead = lambda _: None
    place.checker.instead = lambda prompt: {} if prompt.step == "adherence" else None
    assert place.run("--out", place.folder / "unread", n=1) == 0
    assert f"no pair was accepted; next: judgeharness benchmark stats {place.folder / 'unread'}" in place.out


@pytest.mark.slow
def test_longer_conversations_than_asked_for_are_in_the_plan(place: Place) -> None:
    assert place.run("--rounds", "1-2", n=12) == 0
    said = "at least 2 rounds, whatever --rounds says, have pairs of "
    line = next(line for line in place.out.splitlines() if line.startswith(said))
    assert "self_contradiction" in line
    drawn = [pair.conditions for pair in BenchmarkFolder(place.folder / "bench").pairs()]
    later = {one.failure_type for one in drawn if one.failure_type in line}
    assert {one.n_rounds for one in drawn if one.failure_type in later} == {2}
    assert 1 in {one.n_rounds for one in drawn}
    assert place.run("--out", place.folder / "longer", "--rounds", "2-3", n=12) == 0
    assert said not in place.out


def test_a_changed_file_is_another_generator(place: Place) -> None:
    file = place.folder / "functions.py"
    text = "from support.benchmark_scripted import Scripted\nmodel = Scripted('writer')\n"
    text += "async def writer(prompt):\n    return await model.complete(prompt)\n"
    file.write_text(text)
    command = ["benchmark", "generate", str(place.folder / "docs"), "--generator", f"{file}:writer", "--n", "2"]
    command += ["--out", str(place.folder / "bench")]
    assert main(command) == 0
    assert main(command) == 0  # every answer is known
    before = place.files()
    file.write_text(text + "# another prompt\n")
    place.capsys.readouterr()
    assert main(command) == 2
    assert "before its file was changed" in place.capsys.readouterr().err
    assert place.files() == before


def test_what_a_killed_writer_left_goes_with_the_next_command(place: Place) -> None:
    assert place.run(n=1) == 0
    bench = place.folder / "bench"
    left, fresh, old = (bench / f".{name}.999.part" for name in ("pairs.jsonl", "curated.jsonl", "sample.json"))
    for part in (left, fresh, old):
        part.write_text("half")
    os.utime(old, (0, 0))
    assert place.run(n=1) == 0
    assert [path.exists() for path in (left, fresh, old)] == [False, True, False]


@pytest.mark.slow
def test_a_spent_budget_is_unfinished_work_that_the_same_command_goes_on_with(place: Place) -> None:
    assert place.run("--out", place.folder / "uncut") == 0
    uncut, _ = place.files("uncut"), place.asked
    calls = []
    for _ in range(4):
        code = place.run("--max-calls", 17)
        calls.append(place.asked)
        if code == 0:
            break
        assert code == 3
        assert "of 6 pairs are unfinished: --max-calls=17 reached; what was answered is kept, and" in place.err
        assert "next:" not in place.out
    assert calls == [17, 17, 17, 3]
    assert place.files() == uncut


def test_a_budget_of_nothing_asks_nothing(place: Place) -> None:
    assert place.run("--max-calls", 0) == 3
    assert "6 of 6 pairs are unfinished" in place.err
    assert "what the answers took" not in place.out
    assert place.asked == 0


@pytest.mark.slow
def test_a_model_that_is_down_is_told_and_costs_nothing_of_what_was_answered(place: Place) -> None:
    def down(prompt: Prompt) -> Any:
        if prompt.step == "adherence" and "sk-secret" not in prompt.user:
            raise ValueError("key sk-secret-12345678 is wrong")
        return None

    place.checker.instead = down
    path = f"{place.folder / 'models.py'}:checker"
    (place.folder / "models.yaml").write_text(json.dumps({"options": {path: {"api_key": "sk-secret-12345678"}}}))
    assert place.run("--models", place.folder / "models.yaml") == 3
    assert "6 of 6 pairs are unfinished: adherence of pair-00001: ValueError: key" in place.err
    assert "sk-secret-12345678" not in place.err + place.out
    assert BenchmarkFolder(place.folder / "bench").pairs() == []
    place.checker.instead = lambda _: None
    before = place.asked
    assert place.run() == 0
    assert place.asked == 6 * 9 - (before - 6)


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_answered(place: Place) -> None:
    assert place.run("--out", place.folder / "uncut") == 0
    uncut, whole = place.files("uncut"), place.asked
    place.writer.prompts.clear()
    place.made = len(place.checker.prompts)

    def interrupting(prompt: Prompt) -> Any:
        if len(place.writer.prompts) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    place.writer.instead = interrupting
    assert place.run("--max-concurrency", 2) == 130
    assert "finishing the calls in flight" in place.err
    assert "pairs are unfinished; what was answered is kept, and the same command goes on from there." in place.err
    first = place.asked
    kept = BenchmarkFolder(place.folder / "bench").pairs()
    assert 0 < len(kept) < 6
    place.writer.instead = lambda _: None
    assert place.run() == 0
    assert first + place.asked == whole
    assert place.files() == uncut


@pytest.mark.slow
def test_a_termination_keeps_pairs_that_were_there(place: Place) -> None:
    assert place.run(n=2) == 0
    before = place.files()["pairs.jsonl"]

    def terminating(_: Prompt) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        raise ConnectionError("cut off")

    place.writer.instead = terminating
    assert place.run() == 143
    assert "terminated: 4 of 6 pairs are unfinished" in place.err
    assert place.files()["pairs.jsonl"] == before
    place.writer.instead = lambda _: None
    assert place.run() == 0
    assert place.files()["pairs.jsonl"].startswith(before)


def test_an_interrupt_before_anything_is_asked_writes_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> Outcome[Any, Any]:
        return Outcome(results=(), stopped=KeyboardInterrupt(), calls=0)

    monkeypatch.setattr(asking, "ask_all", stopped)
    assert place.run() == 130
    assert not BenchmarkFolder(place.folder / "bench").exists


@pytest.mark.slow
def test_whoever_does_not_confirm_is_not_asked_for_anything(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(total: int, *, yes: bool, at_most: bool) -> None:
        assert (total, yes, at_most) == (6 * 27, False, True)
        raise UsageError("not confirmed: nothing was asked.")

    monkeypatch.setattr(_generate, "confirm", no)
    assert place.run() == 2
    assert (place.err, place.asked) == ("error: not confirmed: nothing was asked.\n", 0)
    assert not BenchmarkFolder(place.folder / "bench").exists
    monkeypatch.undo()
    assert place.run() == 0  # what is left of it is no foreign folder


@pytest.mark.slow
def test_a_verifier_may_come_later_but_not_go(place: Place) -> None:
    assert place.run(verifier=None) == 0
    assert place.run() == 0
    assert place.asked == 6 * 9
    assert place.run(verifier=None) == 2
    assert "was made with --verifier checker, not none" in place.err
    assert place.run(verifier="other") == 2
    assert "was made with --verifier checker, not other" in place.err


def incoherent(prompt: Prompt) -> Any:
    if prompt.step != "coherence":
        return None
    return {"coherent": False, "conflicts": [{"what": "the plan", "reason": "no round is left"}]}


@pytest.mark.slow
def test_other_options_do_not_write_pairs_anew_that_the_folder_has(place: Place) -> None:
    assert place.run(n=2, verifier=None) == 0
    before, _ = place.files(), place.asked
    place.writer.parameters = {"temperature": 1}
    for verifier in (None, "checker"):
        assert place.run(n=3, verifier=verifier) == 2
        assert "bench: the conversations of 2 pairs, as pair-00001, were written with other options of " in place.err
        assert (
            "writer, before its file was changed, by another version, or from answers that are gone: give what they "
            "were written with" in place.err
        )
        assert (place.files(), place.asked) == (before, 0)
    place.writer.parameters = {}
    assert place.run(n=3) == 0
    assert place.asked == 3 + 3 * 6


@pytest.mark.slow
def test_answers_of_two_kinds_do_not_change_what_the_folder_has(place: Place) -> None:
    assert place.run("--out", place.folder / "other", n=2) == 0
    place.writer.parameters = {"temperature": 1}
    place.writer.instead = lambda prompt: (
        {"turns": [{**turn, "user": "Well?"} for turn in answer_to(prompt)["turns"]]}
        if prompt.step.startswith("conversation_")
        else None
    )
    assert place.run(n=2) == 0
    before, _ = place.files(), place.asked
    with BenchmarkFolder(place.folder / "bench").journal() as journal:
        other = place.folder / "other" / "answers.sqlite"
        journal._run("ATTACH ? AS other", (str(other),))
        journal._run("INSERT OR IGNORE INTO answers SELECT * FROM other.answers", ())
    place.writer.parameters = {}
    assert place.run(n=2) == 2
    assert "the conversations of 2 pairs, as pair-00001, were written with other options" in place.err
    assert (place.files(), place.asked) == (before, 0)


def test_an_interrupt_while_the_folder_is_checked_asks_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.run(n=1, verifier=None) == 0
    before, _ = place.files(), place.asked
    asked = asking.ask_all

    def interrupted(*given: Any, title: str, **more: Any) -> Outcome[Any, Any]:
        outcome = asked(*given, title=title, **more)
        return replace(outcome, stopped=KeyboardInterrupt()) if title == "known conversations" else outcome

    monkeypatch.setattr(asking, "ask_all", interrupted)
    assert place.run(n=1) == 130
    assert (place.files(), place.asked) == (before, 0)


@pytest.mark.slow
def test_conversations_stay_where_the_verifier_came_later_and_rejects_the_plans(place: Place) -> None:
    assert place.run(n=2, verifier=None) == 0
    place.checker.instead = incoherent
    assert place.run(n=3) == 0
    pairs = BenchmarkFolder(place.folder / "bench").pairs()
    assert [pair.verification.failed.layer for pair in pairs if pair.verification.failed] == ["coherence"] * 3
    assert [pair.conversations is None for pair in pairs] == [False, False, True]
    before, _ = place.files(), place.asked
    assert place.run(n=3) == 0
    assert (place.files(), place.asked) == (before, 0)


@pytest.mark.slow
def test_another_share_of_grounded_claims_needs_no_call(place: Place) -> None:
    def half(prompt: Prompt) -> Any:
        if prompt.step != "grounding":
            return None
        answer = answer_to(prompt)
        answer["decisions"][0]["grounded"] = False
        return answer

    place.checker.instead = half
    assert place.run() == 0
    assert {pair.state for pair in BenchmarkFolder(place.folder / "bench").pairs()} == {"rejected"}
    _ = place.asked
    for options in (("--min-grounded", 0), ()):  # the folder's holds until another one is given
        assert place.run(*options) == 0
        assert place.asked == 0
        assert {pair.state for pair in BenchmarkFolder(place.folder / "bench").pairs()} == {"accepted"}


def other_documents(place: Place) -> tuple[object, ...]:
    (place.folder / "docs" / "garden.md").write_text(GARDEN + "No dogs.\n")
    return ()


def weighed(place: Place) -> Path:
    (place.folder / "weights.yaml").write_text("evasion: 2\n")
    return place.folder / "weights.yaml"


def taxonomy(place: Place) -> Path:
    path = place.folder / "taxonomy.yaml"
    path.write_text("extends: default\nbehaviours: [{name: hasty, description: writes in a hurry}]\n")
    return path


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (lambda _: ("--seed", 1), "--seed 0, not 1"),
        (lambda _: ("--rounds", "4"), "--rounds 3-7, not 4-4"),
        (lambda _: ("--documents-per-pair", 2, "--seed", 5), "--seed 0, not 5, --documents-per-pair 1, not 2"),
        (lambda _: ("--domain", "homes"), "other documents (or another --domain)"),
        (other_documents, "other documents (or another --domain)"),
        (lambda place: ("--taxonomy", taxonomy(place)), "another taxonomy"),
        (lambda place: ("--weights", weighed(place)), "other --weights"),
    ],
)
def test_a_benchmark_is_gone_on_with_as_it_was_begun(
    place: Place, options: Callable[[Place], tuple[object, ...]], reason: str
) -> None:
    assert place.run(n=1) == 0
    before, _ = place.files(), place.asked
    assert place.run(*options(place), n=1) == 2
    assert f"bench was made with {reason}: give what it was made with, or another --out." in place.err
    assert (place.files(), place.asked) == (before, 0)


@pytest.mark.slow
def test_another_generator_needs_a_folder_of_its_own(place: Place) -> None:
    assert place.run(n=2) == 0
    assert place.run(n=2, generator="other") == 2
    assert "--generator writer, not other" in place.err
    assert place.run("--out", place.folder / "parallel", n=2, generator="other") == 0
    first, second = (BenchmarkFolder(place.folder / name).pairs() for name in ("bench", "parallel"))
    assert [pair.conditions for pair in first] == [pair.conditions for pair in second]
    assert {pair.generator for pair in second} == {"other"}


def test_a_converted_benchmark_and_a_foreign_folder_are_left_alone(place: Place) -> None:
    bench = BenchmarkFolder(place.folder / "bench")
    settings = Settings(n=1, documents="", taxonomy="", imported_from="public.jsonl")
    bench.write_settings(settings)
    assert place.run() == 2
    assert "was converted from public.jsonl: nothing can be generated into it" in place.err
    foreign = place.folder / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    assert place.run("--out", foreign) == 2
    assert "holds something else (notes.txt): give a folder of its own with --out." in place.err
    assert place.asked == 0


@pytest.mark.slow
def test_two_commands_do_not_write_into_one_folder(place: Place) -> None:
    script = """
import sys
from pathlib import Path
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
with BenchmarkFolder(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", script, str(place.folder / "bench")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:  # noqa: S603 - this interpreter
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert place.run() == 2
        assert "is being written by another process: wait for it, or give another folder." in place.err
        assert place.asked == 0
        other.communicate(b"")
    assert place.run() == 0


@pytest.mark.parametrize("rounds", ["7-3", "0-3", "3-99", "three", "", "-3", "3-4-5"])
def test_rounds_that_are_none_are_one_sentence(place: Place, rounds: str) -> None:
    assert place.run(f"--rounds={rounds}") == 2
    assert f"--rounds is from-to, both between 1 and 20, as 3-7, not '{rounds}'." in place.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("evasion: [", "cannot be read"),
        ("- evasion", "must hold a weight by name, a line for each, as evasion: 2."),
        ("evasionn: 2", "did you mean 'evasion'?"),
        ("evasion: -1", "the weight of evasion must be a number from 0 to 1000000000, not -1."),
        ("evasion: .nan", "the weight of evasion must be a number from 0 to 1000000000, not nan."),
        ("evasion: true", "the weight of evasion must be a number from 0 to 1000000000, not True."),
        ("evasion: 1.0e+308", "must be a number from 0 to 1000000000, not 1e+308."),
        (f"evasion: 1{'0' * 400}", f"must be a number from 0 to 1000000000, not 1{'0' * 39}."),
    ],
)
def test_weights_that_are_none_are_one_sentence(place: Place, text: str, reason: str) -> None:
    (place.folder / "weights.yaml").write_text(text)
    assert place.run("--weights", place.folder / "weights.yaml") == 2
    assert reason in place.err
    assert place.asked == 0


def test_weights_say_what_is_drawn(place: Place) -> None:
    (place.folder / "weights.yaml").write_text("garden: 0\nskeptical: 1000000\n")
    assert place.run("--weights", place.folder / "weights.yaml") == 0
    pairs = BenchmarkFolder(place.folder / "bench").pairs()
    assert {pair.conditions.documents for pair in pairs} == {("library",)}
    assert {pair.conditions.behaviour for pair in pairs} == {"skeptical"}


def test_money_needs_a_price_for_every_model_before_anything_is_asked(place: Place) -> None:
    (place.folder / "models.yaml").write_text("prices: {writer: {input: 1, output: 2}}\n")
    assert place.run("--models", place.folder / "models.yaml", "--max-cost", 1) == 2
    assert "there is no price for model 'checker'" in place.err
    assert place.asked == 0


def test_the_most_characters_a_folder_was_made_with_hold(place: Place) -> None:
    assert place.run(n=1) == 0
    folder = BenchmarkFolder(place.folder / "bench")
    settings = folder.settings()
    drawing = settings.drawing.model_copy(update={"most_characters": 500})
    folder.write_settings(settings.model_copy(update={"drawing": drawing}))
    assert place.run(n=1) == 2
    assert "500 characters of documents a pair, not 24000" in place.err
