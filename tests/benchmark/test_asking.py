"""A request is answered from the journal or asked, within its limits, and kept before it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.benchmark.asker import Answer, Asker, AskError, UnreadableError
from judgeharness_integrations.benchmark.folder import Journal
from judgeharness_integrations.judging.adapters import chat_model
from judgeharness_integrations.judging.answer import EmptyAnswerError, ModelAnswer, Tokens
from judgeharness_integrations.judging.chatmodels import Completion, FunctionModel, Prompt
from judgeharness_integrations.judging.execution.attempting import CallPolicy
from judgeharness_integrations.judging.execution.observing import Span, Spans
from judgeharness_integrations.judging.execution.retrying import Budget, BudgetExhausted

PROMPT = Prompt(step="greeting", system="Say a word.", user="", schema={"type": "object"})


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "answers.sqlite") as opened:
        yield opened


class Model:
    """Says one thing after the other; an exception is raised."""

    name = "talker"
    parameters: Mapping[str, Any] = {}

    def __init__(self, *answers: Any) -> None:
        self.answers, self.samples = list(answers), list[int]()

    @property
    def asked(self) -> int:
        return len(self.samples)

    async def complete(self, prompt: Prompt) -> Completion:
        assert prompt.digest == PROMPT.digest
        self.samples.append(prompt.sample)
        said = self.answers.pop(0)
        if isinstance(said, BaseException):
            raise said
        return await FunctionModel(function=lambda _: said, name=self.name).complete(prompt)


def word(data: Mapping[str, Any]) -> str:
    if "word" not in data:
        raise UnreadableError("no word was said")
    return str(data["word"])


@pytest.fixture
def ask(journal: Journal) -> Callable[..., Answer[str]]:
    def one(model: Any, *, item: str = "item", **options: Any) -> Answer[str]:
        asker = Asker(journal=journal, **{"budget": Budget(), "policy": CallPolicy(max_attempts=1), **options})
        return asyncio.run(asker.ask(model, PROMPT, item=item, read=word))

    return one


def test_what_is_read_is_the_value(ask: Callable[..., Answer[str]]) -> None:
    assert ask(Model({"word": "hello"})) == Answer(value="hello", answers=1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"other": 1}, "no word was said"),
        ("hello", "the answer is no JSON object"),
        (Completion(text='{"word": "no"}', ended="refused"), "the model refused"),
        (Completion(text='{"word": "ha"}', ended="truncated"), "the answer was cut off by the token limit"),
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again(
    ask: Callable[..., Answer[str]], answer: Any, reason: str
) -> None:
    assert ask(Model(answer, {"word": "hello"}), item="mended") == Answer(value="hello", answers=2)
    model = Model(answer, answer, answer)
    assert ask(model, item="never") == Answer(value=None, answers=3, reason=reason)
    assert model.answers == []
    assert model.samples == [0, 1, 2]  # no cache may answer two of them with one reply


def test_nothing_is_asked_twice_not_even_what_could_not_be_read(ask: Callable[..., Answer[str]]) -> None:
    assert ask(Model("x", "y", {"word": "hello"})).answers == 3
    silent = Model()
    assert ask(silent) == Answer(value="hello", answers=3)
    assert ask(silent, budget=Budget(max_calls=0)).value == "hello"
    assert silent.asked == 0


def test_an_answer_is_kept_before_it_is_read(ask: Callable[..., Answer[str]], journal: Journal) -> None:
    asker = Asker(journal=journal, budget=Budget())

    def stumble(_: object) -> str:
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        asyncio.run(asker.ask(Model({"word": "hello"}), PROMPT, item="item", read=stumble))
    assert ask(Model()).value == "hello"


def test_a_model_that_fails_leaves_the_item_unfinished_and_nothing_kept(
    ask: Callable[..., Answer[str]], journal: Journal
) -> None:
    with pytest.raises(AskError, match=r"^greeting of item: ValueError: wrong key$"):
        ask(Model(ValueError("wrong key")))
    with pytest.raises(AskError, match=r"^greeting of item: ValueError$"):
        ask(Model(ValueError()))
    assert journal.usage() == []


def test_a_passing_failure_is_tried_again_and_counted(ask: Callable[..., Answer[str]], journal: Journal) -> None:
    policy = CallPolicy(max_attempts=2)
    assert ask(Model(ConnectionError("reset"), {"word": "hello"}), policy=policy).value == "hello"
    assert [used.tries for used in journal.usage()] == [2]


def test_a_reply_without_an_answer_is_booked_before_the_next_attempt(
    ask: Callable[..., Answer[str]], journal: Journal
) -> None:
    empty, free = (EmptyAnswerError(ModelAnswer(tokens=tokens)) for tokens in (Tokens(10, 0), Tokens()))
    budget = Budget(max_calls=2, prices={"*": Price(input=1, output=1)})
    with pytest.raises(BudgetExhausted):
        ask(Model(free, empty, {"word": "hello"}), policy=CallPolicy(max_attempts=3), budget=budget)
    assert [(used.answers, used.input_tokens) for used in journal.usage()] == [(0, 10)]
    assert (budget.tokens, budget.cost) == (10, 10 / 1e6)


def test_a_call_that_takes_too_long_is_given_up(ask: Callable[..., Answer[str]]) -> None:
    class Slow(Model):
        async def complete(self, prompt: Prompt) -> Completion:
            await asyncio.sleep(60)
            return await super().complete(prompt)

    with pytest.raises(AskError, match=r"TimeoutError: no answer within 0\.01 s"):
        ask(Slow(), policy=CallPolicy(timeout_s=0.01, max_attempts=1))


def test_a_spent_budget_asks_nothing(ask: Callable[..., Answer[str]]) -> None:
    model = Model("x", {"word": "hello"})
    with pytest.raises(BudgetExhausted, match="max_calls=1 reached"):
        ask(model, budget=Budget(max_calls=1))
    assert model.asked == 1
    assert ask(model).answers == 2


def test_money_is_counted_by_the_model_and_a_cache_is_free(ask: Callable[..., Answer[str]]) -> None:
    budget = Budget(prices={"talker": Price(input=1_000_000, output=0)}, max_cost=10)
    ask(Model(Completion(text='{"word": "a"}', input_tokens=3, output_tokens=9)), item="paid", budget=budget)
    cached = Completion(text='{"word": "a"}', input_tokens=3, output_tokens=9, cached=True)
    ask(Model(cached), item="cached", budget=budget)
    assert (budget.cost, budget.spent) == (3.0, 2)


def test_observers_see_the_calls_that_are_made_and_no_others(ask: Callable[..., Answer[str]]) -> None:
    seen: list[str] = []

    class Watching:
        def begin(self, span: Span) -> object:
            seen.append(span.name)
            return None

        def end(self, span: Span) -> None:
            seen.append(f"end of {span.name}")

    for _ in range(2):
        ask(Model({"word": "hello"}), spans=Spans((Watching(),)))
    assert seen == ["greeting item", "end of greeting item"]


def test_an_error_of_a_function_of_a_file_says_step_item_and_line(
    ask: Callable[..., Answer[str]], tmp_path: Path
) -> None:
    (tmp_path / "speaking.py").write_text("def word(prompt):\n    return {'word': {}['side']}\n")
    with pytest.raises(AskError, match=r"^greeting of item: KeyError: 'side' \(speaking\.py, line 2\)$"):
        ask(chat_model(f"{tmp_path / 'speaking.py'}:word"))
