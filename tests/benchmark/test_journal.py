"""Answers are kept once, as they were given, and are there after a kill."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.analysis.usage import Spent
from judgeharness_integrations.benchmark.folder import Asked, Journal, StepUsage
from judgeharness_integrations.judging.answer import ModelAnswer, Tokens
from judgeharness_integrations.judging.chatmodels import Completion, FunctionModel, Prompt

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "answers.sqlite") as opened:
        yield opened


def asked(item: str = "pair-00001", step: str = "blueprints", attempt: int = 0, **options: Any) -> Asked:
    model = FunctionModel(function=lambda _: "", name=options.pop("model", "writer"), parameters=options)
    return Asked.of(model, Prompt(step=step, system="s", user="u", schema={}), item=item, attempt=attempt)


@pytest.mark.slow
@given(
    text=st.text(st.characters()),
    parsed=st.none() | st.dictionaries(st.text(), JSON),
    tokens=st.none() | st.integers(0, 9),
)
def test_an_answer_comes_back_as_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, text: str, parsed: Any, tokens: int | None
) -> None:
    given_one = Completion(text=text, parsed=parsed, ended="truncated", model="m", input_tokens=tokens, cached=True)
    with Journal(tmp_path_factory.mktemp("journal") / "answers.sqlite") as journal:
        assert journal.add(asked(), given_one, tries=2) == given_one
        assert journal.find(asked()) == given_one


def test_what_json_has_no_form_for_is_kept_as_text(journal: Journal) -> None:
    kept = journal.add(asked(), Completion(text="", parsed={"path": Path("a"), "rounds": (1, 2)}), tries=1)
    assert kept.parsed == {"path": "a", "rounds": [1, 2]}


def test_of_two_answers_to_a_request_the_first_one_stays_and_is_what_both_get(journal: Journal) -> None:
    journal.add(asked(), Completion(text="first"), tries=1)
    assert journal.add(asked(), Completion(text="second"), tries=1).text == "first"
    assert journal.usage()[0].answers == 1


@pytest.mark.parametrize(
    "other",
    [
        asked(item="pair-00002"),
        asked(step="coherence"),
        asked(attempt=1),
        asked(model="another"),
        asked(temperature=0.5),
    ],
)
def test_another_request_has_no_answer_yet(journal: Journal, other: Asked) -> None:
    journal.add(asked(), Completion(text="kept"), tries=1)
    assert journal.find(other) is None


def test_another_prompt_is_another_request() -> None:
    model = FunctionModel(function=lambda _: "", name="writer")
    prompts = [Prompt(step="s", system=system, user=user, schema={}) for system, user in ("ab", "ba", ("", "ab"))]
    assert len({Asked.of(model, prompt, item="i", attempt=0).prompt for prompt in prompts}) == 3


def test_usage_sums_what_is_known_and_counts_nothing_for_what_a_cache_gave(journal: Journal) -> None:
    for item, answer, tries in (
        ("a", Completion(text="", input_tokens=5, output_tokens=1), 1),
        ("b", Completion(text="", input_tokens=7, output_tokens=None), 3),
        ("c", Completion(text="", cached=True), 1),
        ("d", Completion(text="", input_tokens=100, output_tokens=0, cached=True), 1),
    ):
        journal.add(asked(item), answer, tries=tries)
    journal.add(asked("a", "claims", temperature=1), Completion(text="", input_tokens=2, output_tokens=3), tries=1)
    written = StepUsage(
        step="blueprints",
        model="writer",
        answers=4,
        tries=6,
        input_tokens=12,
        output_tokens=None,
        spent=(Spent(12, None, "writer"),),
    )
    claims = StepUsage(
        step="claims",
        model="writer",
        answers=1,
        tries=1,
        input_tokens=2,
        output_tokens=3,
        spent=(Spent(2, 3, "writer"),),
    )
    assert journal.usage() == [written, claims]


def test_tokens_of_the_providers_cache_are_summed_tier_by_tier(journal: Journal) -> None:
    for item, tier in (("a", None), ("b", "flex"), ("c", "flex")):
        answer = Completion(
            text="", input_tokens=10, output_tokens=1, cached_input_tokens=6, cache_write_tokens=2, service_tier=tier
        )
        journal.add(asked(item), answer, tries=1)
    [used] = journal.usage()
    assert (used.input_tokens, used.output_tokens) == (30, 3)
    assert used.spent == (Spent(10, 1, "writer", 6, 2, None), Spent(20, 2, "writer", 12, 4, "flex"))


def test_what_replies_without_an_answer_took_is_counted_also_where_none_came(journal: Journal, tmp_path: Path) -> None:
    empty = ModelAnswer(tokens=Tokens(10, 0, 6, 2), service_tier="flex")
    journal.book(asked(), empty)
    journal.book(asked(), empty)
    [used] = journal.usage()
    assert (used.answers, used.tries, used.input_tokens, used.output_tokens) == (0, 0, 20, 0)
    assert used.spent == (Spent(20, 0, "writer", 12, 4, "flex"),)
    assert journal.find(asked()) is None
    assert journal.models(["blueprints"]) == []
    journal.add(asked(), Completion(text="", input_tokens=5, output_tokens=1), tries=3)
    with Journal(tmp_path / "answers.sqlite") as again:
        [used] = again.usage()
    assert (used.answers, used.tries, used.input_tokens, used.output_tokens) == (1, 3, 25, 1)


def test_nothing_was_used_at_first(journal: Journal) -> None:
    assert journal.usage() == []


def test_any_thread_may_add(journal: Journal) -> None:
    def add(place: int) -> None:
        journal.add(asked(f"item-{place}"), Completion(text=str(place)), tries=1)

    threads = [threading.Thread(target=add, args=(place,)) for place in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(journal.find(asked(f"item-{place}")) == Completion(text=str(place)) for place in range(20))


@pytest.mark.slow
def test_what_was_added_is_there_after_a_kill(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from judgeharness_integrations.benchmark.folder import Asked, Journal
from judgeharness_integrations.judging.chatmodels import Completion
journal = Journal(Path(sys.argv[1]))
journal.add(Asked(item="i", step="s", model='["m", {}]', prompt="p", attempt=0), Completion(text="kept"), tries=1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "answers.sqlite"
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)  # noqa: S603 - this interpreter
    assert ended.returncode == -9
    with Journal(path) as journal:
        found = journal.find(Asked(item="i", step="s", model='["m", {}]', prompt="p", attempt=0))
    assert found == Completion(text="kept")


@pytest.mark.parametrize("content", [b"this is no database" * 100, None])
def test_a_file_that_is_none_is_refused_with_what_to_do(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "answers.sqlite"
    if content is None:
        path = path / "below" / "nothing"
    else:
        path.write_bytes(content)
    with pytest.raises(LogStorageError, match=r"cannot be used \(.+\): make room, or give another folder\.$"):
        Journal(path)


def test_an_answer_that_somebody_spoilt_is_one_sentence(journal: Journal) -> None:
    journal.add(asked(), Completion(text="kept"), tries=1)
    with closing(sqlite3.connect(journal.path)) as connection:
        connection.execute("UPDATE answers SET answer = '{'")
        connection.commit()
    with pytest.raises(LogStorageError, match="cannot be used"):
        journal.find(asked())


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "answers.sqlite")
    journal.close()
    with pytest.raises(LogStorageError, match="closed"):
        journal.find(asked())


def test_parameters_that_json_has_no_form_for_give_the_same_key_in_every_process() -> None:
    class Client:
        """Its text says where it stands in memory."""

    def key(*, client: Any) -> str:
        return asked(client=client, path=Path("a"), stop={"b", "a"}, nested=MappingProxyType({"x": 1})).model

    assert key(client=Client()) == key(client=Client()) != key(client=Path("b"))
    assert '"a", "b"' in key(client=Client())
    assert "0x" not in key(client=Client())
