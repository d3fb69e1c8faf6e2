"""`judgeharness benchmark discover`: the command as it is typed, with models that are functions and a real client."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.openai_server import OpenAIServer, Reply, Request

from judgeharness_integrations.benchmark.discovery import read_proposals
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.taxonomy import load_taxonomy
from judgeharness_integrations.cli import main
from judgeharness_integrations.reporting.schemas import schema

Serve = Callable[..., OpenAIServer]
READER = """
import pathlib

FOLDER = pathlib.Path(__file__).parent

def reader(prompt):
    with (FOLDER / "calls.txt").open("a") as calls:
        calls.write(prompt.step + chr(10))
    if prompt.step == "discovery_cover":
        return cover(prompt.user)
    if (FOLDER / "no_proposals").exists():
        raise ValueError("key sk-hidden-key refused")
    if (FOLDER / "odd_proposals").exists():
        return {"types": "none"}
    names = ["unit_confusion", "shouting"] if not (FOLDER / "empty").exists() else []
    return {"types": [type_(name) for name in names]}

def type_(name):
    texts = {"definition": f"The assistant is at {name}.", "flaw": "It does so.", "benign": "It does not."}
    return {"name": name, **texts, "earliest_round": 1, "examples": [1, 2]}

def cover(said):
    if "broken" in said and not (FOLDER / "mended").exists():
        raise ValueError("key sk-hidden-key refused")
    if "unreadable" in said:
        return {"type": "odd"}
    if "fine" in said:
        return {"shows": "", "reason": "it does not fail", "type": "nothing"}
    if "hedge" in said:
        return {"shows": "it hedges", "reason": "that is evasion", "type": "evasion"}
    return {"shows": "mixes units", "reason": "no type is about units", "type": "other"}
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        document = json.loads(self.out)
        jsonschema.validate(document, schema("benchmark_discovery-1"))
        return document


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "discover_models.py").write_text(READER)
    yield tmp_path
    sys.modules.pop("discover_models", None)


@pytest.fixture
def discover(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*options: object) -> Ran:
        capsys.readouterr()
        code = main(["benchmark", "discover", *map(str, options)])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


def talks(folder: Path, *said: str) -> Path:
    lines = ({"id": f"t{n}", "text": f"User: {text}"} for n, text in enumerate(said, 1))
    path = folder / "talks.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def calls(folder: Path) -> list[str]:
    return (folder / "calls.txt").read_text().split()


ASKED = ("--model", "discover_models.py:reader", "--out", "found")
Discover = Callable[..., Ran]


def test_coverage_proposals_and_what_to_do_next(folder: Path, discover: Discover) -> None:
    ran = discover(talks(folder, "hedge", "fine", "units 1", "units 2", "unreadable"), *ASKED)
    assert (ran.code, ran.err) == (0, "")
    assert "plan: 5 transcripts are read by reader for failure_types that are missing" in ran.out
    assert "18 at most" in ran.out
    shares = "20.0 of 5 are covered by a present type, 40.0 of 5 are covered by none, 20.0 of 5 show no failure"
    assert f"per cent: {shares}, 20.0 of 5 got no answer that could be read\n" in ran.out
    assert re.search(r"^evasion +1$", ran.out, re.MULTILINE)
    assert "similarity: cosine of tf-idf word weights, 0 to 1" in ran.out
    assert (
        "decide about 2 proposals in found/proposals.yaml, then: judgeharness benchmark discover --decided" in ran.out
    )
    found = read_proposals(folder / "found" / "proposals.yaml")
    assert [(one.name, one.examples, one.decision) for one in found.proposals] == [
        ("unit_confusion", ["t3", "t4"], None),
        ("shouting", ["t3", "t4"], None),
    ]
    assert sorted(calls(folder)) == ["discovery_cover"] * 7 + ["discovery_propose"]


@pytest.mark.slow
def test_the_same_command_asks_nothing_twice_and_keeps_what_a_person_wrote(folder: Path, discover: Discover) -> None:
    path = talks(folder, "units 1", "units 2")
    first = discover(path, *ASKED, "--json").json
    file = folder / "found" / "proposals.yaml"
    file.write_text(
        file.read_text().replace("It does so.", "My own words.", 1).replace("decision:", "decision: keep", 2)
    )
    again = discover(path, *ASKED, "--json")
    assert (first["calls"], again.json["calls"], len(calls(folder))) == (3, 0, 3)
    assert "plan: 2 transcripts" in again.err
    assert [one["flaw"] for one in again.json["proposals"]] == ["My own words.", "It does so."]
    assert again.json["cost"]["answers"] == 3
    said = discover(path, *ASKED).out
    assert "judgeharness benchmark discover --decided found/proposals.yaml" in said
    assert "decide about" not in said


def test_the_document_adds_up(folder: Path, discover: Discover) -> None:
    prices = folder / "models.yaml"
    prices.write_text("prices: {'*': {input: 1, output: 2}}")
    long = "hedge " + "x" * 50_000
    document = discover(talks(folder, long, "fine", "units"), *ASKED, "--json", "--models", prices).json
    states = [document[state] for state in ("covered", "uncovered", "nothing", "unread", "unfinished")]
    assert states == [1, 1, 1, 0, 0]
    assert (document["transcripts"], document["cut"], document["batches"]) == (3, 1, 1)
    assert {"name": "evasion", "transcripts": 1} in document["types"]
    assert [answer["state"] for answer in document["answers"]] == ["covered", "nothing", "uncovered"]
    assert document["unread_batches"] == 1  # there is no second conversation its examples could be
    assert (document["proposals"], document["proposals_file"]) == ([], "proposals.yaml")
    assert (
        "1 longer than 40000 characters were shown without their middle" in discover(folder / "talks.jsonl", *ASKED).out
    )


def test_behaviours_have_a_folder_of_their_own(folder: Path, discover: Discover) -> None:
    (folder / "discover_models.py").write_text(
        """
def reader(prompt):
    if prompt.step == "discovery_cover":
        return {"shows": "one word at a time", "reason": "none fits", "type": "other"}
    return {"types": [{"name": "terse", "description": "One word at a time.", "examples": [1]}]}
"""
    )
    path = talks(folder, "no")
    (proposal,) = discover(path, *ASKED, "--of", "behaviours", "--json").json["proposals"]
    assert (proposal["name"], proposal["description"]) == ("terse", "One word at a time.")
    ran = discover(path, *ASKED)
    assert (ran.code, ran.out) == (2, "")
    assert "found/proposals.yaml holds proposals of behaviours: give another --out for each kind" in ran.err


@pytest.mark.slow
def test_failed_calls_leave_the_rest_and_the_same_command_goes_on(folder: Path, discover: Discover) -> None:
    models = folder / "models.yaml"
    models.write_text("options: {'*': {api_key: sk-hidden-key}}")
    path = talks(folder, "units 1", "broken", "units 2")
    ran = discover(path, *ASKED, "--models", models)
    assert ran.code == 3
    assert "33.3 of 3 are unfinished" in ran.out
    assert "1 of 3 transcripts are unfinished: discovery_cover of t2: ValueError: key [redacted]" in ran.err
    assert "(discover_models.py, line " in ran.err
    assert "sk-hidden" not in ran.out + ran.err
    assert not (folder / "found" / "proposals.yaml").exists()
    document = discover(path, *ASKED, "--json").json
    assert (document["unfinished"], document["batches"], document["proposals_file"]) == (1, None, None)
    (folder / "mended").touch()
    asked = len(calls(folder))
    assert discover(path, *ASKED, "--json").json["uncovered"] == 3
    assert len(calls(folder)) - asked == 2


def test_proposals_that_failed_are_asked_for_again(folder: Path, discover: Discover) -> None:
    path = talks(folder, "units 1", "units 2")
    (folder / "no_proposals").touch()
    ran = discover(path, *ASKED)
    assert ran.code == 3
    assert "1 of 1 batches of proposals are unfinished" in ran.err
    assert not (folder / "found" / "proposals.yaml").exists()
    (folder / "no_proposals").unlink()
    assert len(discover(path, *ASKED, "--json").json["proposals"]) == 2


def test_proposals_that_cannot_be_read_are_counted(folder: Path, discover: Discover) -> None:
    (folder / "odd_proposals").touch()
    ran = discover(talks(folder, "units 1", "units 2"), *ASKED)
    assert ran.code == 0
    assert "1 of the batches of uncovered transcripts got no answer that could be read" in ran.out
    assert "no type is proposed for the 2 that no type covers" in ran.out


def test_where_all_is_covered_nothing_is_proposed(folder: Path, discover: Discover) -> None:
    ran = discover(talks(folder, "hedge", "fine"), *ASKED)
    assert "no type is proposed since no transcript is left uncovered" in ran.out
    assert calls(folder) == ["discovery_cover"] * 2


def test_a_budget_ends_it_and_a_larger_one_goes_on(folder: Path, discover: Discover) -> None:
    path = talks(folder, "units 1", "units 2", "units 3")
    ran = discover(path, *ASKED, "--max-calls", 2)
    assert (ran.code, len(calls(folder))) == (3, 2)
    assert "--max-calls=2 reached" in ran.err
    assert discover(path, *ASKED, "--max-calls", 2).code == 0
    assert len(calls(folder)) == 4


def test_where_nothing_may_be_spent_nothing_is_asked_and_all_is_unfinished(folder: Path, discover: Discover) -> None:
    ran = discover(talks(folder, "units 1", "units 2"), *ASKED, "--max-calls", 0)
    assert (ran.code, (folder / "calls.txt").exists()) == (3, False)
    assert "per cent: 100.0 of 2 are unfinished" in ran.out
    assert "what the answers took" not in ran.out
    assert "2 of 2 transcripts are unfinished" in ran.err


def test_decisions_become_a_taxonomy(folder: Path, discover: Discover) -> None:
    discover(talks(folder, "units 1", "units 2"), *ASKED)
    file = folder / "found" / "proposals.yaml"
    nothing = discover("--decided", file, "--taxonomy-out", "taxonomy.yaml")
    assert (nothing.code, nothing.out.splitlines()[0]) == (
        0,
        "2 proposals: 0 kept, 0 merged, 0 dropped, 2 without a decision, which stay out",
    )
    assert load_taxonomy(folder / "taxonomy.yaml") == load_taxonomy(None)
    text = file.read_text().replace("decision:", "decision: keep", 1)
    file.write_text("decision: merge\n  into: evasion".join(text.rsplit("decision:", 1)))
    twice = discover("--decided", file, "--taxonomy-out", "taxonomy.yaml")
    assert (twice.code, twice.err) == (2, "error: taxonomy.yaml exists: give another --taxonomy-out, or --overwrite.\n")
    made = discover("--decided", file, "--taxonomy-out", "taxonomy.yaml", "--overwrite")
    assert made.out.splitlines() == [
        "2 proposals: 1 kept, 1 merged, 0 dropped",
        "  kept unit_confusion",
        "  merged shouting into evasion, whose definition stands",
        "taxonomy.yaml is written: judgeharness benchmark generate DOCS --taxonomy taxonomy.yaml ...",
    ]
    document = discover("--decided", file, "--taxonomy", "taxonomy.yaml", "--taxonomy-out", "b.yaml", "--json").json
    assert (document["kept"], document["merged"]) == (["unit_confusion"], [{"name": "shouting", "into": "evasion"}])
    assert (folder / "b.yaml").read_bytes() == (folder / "taxonomy.yaml").read_bytes()
    assert "unit_confusion" in load_taxonomy(folder / "b.yaml").failure_types


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "give transcripts, a model and a folder"),
        (("talks.jsonl", "--out", "found"), "give transcripts, a model and a folder"),
        (("talks.jsonl", *ASKED, "--taxonomy-out", "t.yaml"), "--taxonomy-out goes with --decided"),
        (("talks.jsonl", "--decided", "p.yaml"), "--decided asks nobody: leave out the transcripts"),
        (("--decided", "p.yaml", "--model", "m"), "--decided asks nobody"),
        (("--decided", "p.yaml"), "say where the taxonomy is to go: give --taxonomy-out"),
        (("--decided", "p.yaml", "--taxonomy-out", "t.yaml"), "p.yaml: cannot be read"),
        (("missing.jsonl", *ASKED), "missing.jsonl does not exist"),
        (("talks.jsonl", *ASKED, "--of", "moods"), "moods"),
        (("talks.jsonl", *ASKED, "--max-cost", "1"), "--max-cost needs prices"),
    ],
)
def test_wrong_usage_is_one_sentence_and_asks_nothing(
    folder: Path, discover: Discover, options: tuple[str, ...], says: str
) -> None:
    talks(folder, "units")
    ran = discover(*options)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert not (folder / "calls.txt").exists()


def test_two_commands_do_not_write_one_folder(folder: Path, discover: Discover) -> None:
    with BenchmarkFolder(folder / "found").held():
        ran = discover(talks(folder, "units"), *ASKED)
    assert (ran.code, "is being written by another process" in ran.err) == (2, True)


class Terminal:
    """What is typed, on a terminal."""

    def __init__(self, *lines: str) -> None:
        self._lines = [f"{line}\n" for line in lines]

    def isatty(self) -> bool:
        return True

    def readline(self, *_: object) -> str:
        return self._lines.pop(0) if self._lines else ""


@pytest.mark.parametrize(
    ("typed", "decisions"),
    [
        (("y", "k", "d"), ["keep", "drop"]),
        (("y", "what?", "Merge", "q"), ["merge", None]),
        (("y", "", "K"), [None, "keep"]),
        (("y",), [None, None]),
    ],
)
def test_on_a_terminal_each_proposal_is_asked_about(
    folder: Path,
    discover: Discover,
    monkeypatch: pytest.MonkeyPatch,
    typed: tuple[str, ...],
    decisions: list[str | None],
) -> None:
    path = talks(folder, "units 1", "units 2")
    (folder / "talks.jsonl").write_text(path.read_text().replace('"t1"', '"\\u001b[2Jt1"'))
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    monkeypatch.setattr(sys, "stdin", Terminal(*typed[1:]))
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    ran = discover(path, *ASKED)
    assert ran.code == 0, ran.err
    found = read_proposals(folder / "found" / "proposals.yaml")
    assert [one.decision for one in found.proposals] == decisions
    assert "proposal 1 of 2\n  unit_confusion\n    definition: The assistant is at unit_confusion.\n" in ran.out
    assert "most like shouting (cosine of tf-idf word weights" in ran.out
    assert "    The assistant is at shouting.\n" in ran.out
    assert "seen in 2 transcripts: [2Jt1, t2" in ran.out


def test_nobody_is_asked_with_yes(folder: Path, discover: Discover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("k", "k"))
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    assert discover(talks(folder, "units 1", "units 2"), *ASKED, "--yes").code == 0
    assert [one.decision for one in read_proposals(folder / "found" / "proposals.yaml").proposals] == [None, None]


@pytest.mark.slow
def test_a_real_client_at_any_concurrency_writes_the_same_file(
    folder: Path, discover: Discover, openai_server: Serve
) -> None:
    def script(request: Request) -> Reply:
        if "new types" in request.system:
            new = {"definition": "d", "flaw": "f", "benign": "b", "earliest_round": 1, "examples": [1]}
            number = next(word for word in request.user.split() if word.isdigit() and word != "1")
            return Reply.json({"types": [{"name": f"type_{number}"} | new]})
        late = 0.02 if "units 1" in request.user else 0.0
        return Reply.json({"shows": "units", "reason": "r", "type": "other"}, delay=late)

    server = openai_server(script)
    (folder / "models.yaml").write_text(
        f"options: {{'*': {{base_url: '{server.url}/v1', api_key: sk-loopback, max_retries: 0}}}}"
    )
    path = talks(folder, *(f"units {n}" for n in range(10, 22)))
    for concurrency in (1, 8):
        options = ("--model", "openai:gpt-4o", "--models", "models.yaml", "--max-concurrency", concurrency)
        document = discover(path, *options, "--out", f"out{concurrency}", "--json").json
        assert (document["uncovered"], document["batches"], len(document["proposals"])) == (12, 2, 2)
        assert document["cost"]["steps"][0]["input_tokens"] > 0
    one, eight = (folder / f"out{n}" / "proposals.yaml" for n in (1, 8))
    assert one.read_bytes() == eight.read_bytes()
    assert server.calls == 28
    assert b"sk-loopback" not in b"".join(file.read_bytes() for file in (folder / "out8").iterdir())
