"""The batch engine: what is asked, what goes wrong at a provider, and what is said of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from support.batch_server import Faults
from support.batched import CALLS, Batched, longer, pairs
from support.openai_server import Reply
from support.provider_clients import gemini_model

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import BatchesOpenError, PlanError, UsageError
from judgeharness_integrations.judging.execution import Budget, LocalExecutor
from judgeharness_integrations.judging.execution.batch_engine import BatchExecutor, Terms, cancel_batches
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.judge import Judgment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.provider_server import Request

langchain = pytest.importorskip("judgeharness_langchain")
pytestmark = pytest.mark.slow
PROVIDERS = ("openai", "responses", "anthropic")
TWO = ("openai", "anthropic")


@pytest.fixture
def batched(tmp_path: Path) -> Iterator[Callable[..., Batched]]:
    """Makes measurements by batch, and ends their servers."""
    made: list[Batched] = []

    def make(*given: Any, **options: Any) -> Batched:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Batched(folder, *given, **options))
        return made[-1]

    yield make
    for one in made:
        one.__exit__()


def _said(rows: Any) -> list[Any]:
    """What rows say, without what no two runs have in common."""
    own = {
        "latency_s": None,
        "asked_at": None,
        "call_id": None,
        "service_tier": None,
        "probe_hash": None,
        "attributes": {},
    }
    found = [replace(row, **own, reasoning=None, raw=None) for row in rows]
    return sorted(found, key=lambda row: row.key)


@pytest.mark.parametrize("provider", TWO)
def test_the_rows_of_a_run_by_batch_are_those_of_one_by_calls(batched: Callable[..., Batched], provider: str) -> None:
    by_batch, by_calls = batched(provider), batched(provider)
    by_batch.results()
    by_calls.results(executor=LocalExecutor())
    assert _said(by_batch.rows()) == _said(by_calls.rows())


def test_sixty_cases_by_six_are_one_batch(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(60)
    assert [len(batch.requests) for batch in one.server.batches.values()] == [60 * CALLS]


@pytest.mark.parametrize("provider", PROVIDERS[::2])
def test_a_row_names_the_tier_batch(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider)
    one.results(1)
    assert {row.service_tier for row in one.rows()} == {"batch"}


def test_repetitions_have_an_answer_each(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(1)
    assert len({row.reasoning for row in one.rows()}) == CALLS


@pytest.mark.parametrize("provider", TWO)
def test_what_a_batch_that_expired_left_out_is_asked_again_and_nothing_else(
    batched: Callable[..., Batched], provider: str
) -> None:
    one = batched(provider, faults=Faults(expired=5))
    one.results()
    assert Counter(one.server.finish().values()) == {1: 4 * CALLS}


@pytest.mark.parametrize("provider", TWO)
def test_a_result_that_is_missing_is_asked_again_and_said(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(missing=2))
    one.results()
    assert any("2 requests left out, to be asked again" in line for line in one.told)


def test_of_two_results_with_one_id_the_first_stands(batched: Callable[..., Batched]) -> None:
    one = batched(faults=Faults(doubled=True))
    one.results()
    assert {row.outcome for row in one.rows()} == {"ok"}


def test_a_row_with_the_status_0_is_no_answer(batched: Callable[..., Batched]) -> None:
    one = batched(faults=Faults(zero=3, hidden=True))
    one.results()
    assert {row.outcome for row in one.rows()} == {"ok"}


@pytest.mark.parametrize("provider", TWO)
def test_a_request_that_every_batch_leaves_out_is_an_error_row(
    batched: Callable[..., Batched], provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = batched(provider)
    end = one.server._end

    def losing(batch: Any) -> None:
        batch.number, one.server.faults.expired = 0, 1
        end(batch)

    monkeypatch.setattr(one.server, "_end", losing)
    one.results(1)
    errors = [row.error or "" for row in one.rows() if row.outcome == "error"]
    assert ["3 batches left this request unanswered" in error for error in errors] == [True]


def _failing(status: int, times: int) -> Callable[[Request], Reply]:
    numbers = count()
    return lambda request: Reply.status(status) if next(numbers) < times else longer(request)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("provider", TWO)
def test_a_row_that_failed_is_an_error_row_whatever_the_counts_say(
    batched: Callable[..., Batched], provider: str, *, hidden: bool
) -> None:
    one = batched(provider, faults=Faults(hidden=hidden), script=_failing(400, 2))
    one.results()
    assert Counter(row.outcome for row in one.rows()) == {"ok": 4 * CALLS - 2, "error": 2}


@pytest.mark.parametrize("provider", TWO)
def test_an_error_that_heals_is_tried_again_in_another_batch(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, script=_failing(500, 2))
    one.results()
    assert Counter(row.attempts for row in one.rows()) == {1: 4 * CALLS - 2, 2: 2}


@pytest.mark.parametrize("provider", TWO)
def test_a_model_that_is_not_batched_is_refused_in_a_sentence(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(unbatched=frozenset({"unbatched"})))
    with pytest.raises(UsageError, match=r"takes no batch of 'unbatched' .*: mend that, or use the engine local"):
        one.results(judge=one.judge(model="unbatched"))


@pytest.mark.parametrize("provider", TWO)
def test_a_batch_that_was_refused_leaves_nothing_to_collect(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(unbatched=frozenset({"unbatched"})))
    with pytest.raises(UsageError):
        one.results(judge=one.judge(model="unbatched"))
    assert (one.journal.records(), one.rows()) == ([], [])


@pytest.mark.parametrize("provider", TWO)
def test_a_batch_that_was_accepted_without_an_answer_is_found_again(
    batched: Callable[..., Batched], provider: str
) -> None:
    one = batched(provider, faults=Faults(dropped=1))
    one.results()
    assert (one.server.seen.count("create"), one.most_paid) == (1, 1)


@pytest.mark.parametrize("provider", TWO)
def test_a_batch_that_was_not_accepted_is_submitted_again(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(lost=1))
    one.results()
    assert (one.server.seen.count("create"), one.most_paid) == (2, 1)
    assert not one.server.files  # what was uploaded for it neither


def test_nothing_is_submitted_before_it_is_known_what_became_of_a_batch(batched: Callable[..., Batched]) -> None:
    one = batched(faults=Faults(lost=1))
    with pytest.raises(BatchesOpenError, match="1 of which nobody knows whether it was accepted"):
        one.results(terms={"wait": False, "settle_s": 60.0})
    assert one.server.seen.count("create") == 1


@pytest.mark.parametrize("provider", TWO)
def test_of_two_like_batches_the_one_with_our_ids_is_adopted(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider)
    one.results()
    again = batched(provider, faults=Faults(dropped=1))
    again.server.batches |= one.server.batches
    again.results()
    assert (again.server.seen.count("create"), again.most_paid) == (1, 1)


@pytest.mark.parametrize(
    ("provider", "faults"),
    [
        ("openai", Faults(most=10)),
        ("openai", Faults(largest=10)),
        ("openai", Faults(heaviest=10_000)),
        ("anthropic", Faults(largest=10)),
    ],
    ids=["what waits", "openai", "a file of openai's", "anthropic"],
)
def test_what_is_too_much_for_a_provider_is_submitted_in_parts(
    batched: Callable[..., Batched], provider: str, faults: Faults
) -> None:
    one = batched(provider, faults=replace(faults))
    one.results()
    assert Counter(one.server.finish().values()) == {1: 4 * CALLS}


@pytest.mark.parametrize("provider", TWO)
def test_a_provider_that_is_busy_is_asked_later(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(busy=2))
    one.results()
    assert (one.server.seen.count("create"), one.server.submits <= 1, one.most_paid) == (3, True, 1)


def test_a_refusal_stands_where_its_file_cannot_be_deleted_either(
    batched: Callable[..., Batched], monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgeharness_integrations.judging.execution.batch_engine.providers import OpenAIBatches

    one = batched(faults=Faults(busy=2))

    async def refusing(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(OpenAIBatches, "_delete", refusing)
    one.results()
    assert (one.server.seen.count("create"), {row.outcome for row in one.rows()}) == (3, {"ok"})


def test_a_batch_that_is_gone_at_the_provider_ends_the_run_in_a_sentence(batched: Callable[..., Batched]) -> None:
    one = batched(faults=Faults(polls=2))
    with pytest.raises(BatchesOpenError):
        one.results(terms={"wait": False})
    one.server.batches.clear()
    with pytest.raises(UsageError, match=r"openai tells nothing of batch_\w+ .*: what it took is not known"):
        one.results()


def test_a_batch_whose_files_cannot_be_deleted_is_collected_all_the_same(
    batched: Callable[..., Batched], monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgeharness_integrations.judging.execution.batch_engine.providers import OpenAIBatches

    one = batched()

    async def refusing(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(OpenAIBatches, "tidy", refusing)
    one.results()
    assert (one.journal.records()[0].state, {row.outcome for row in one.rows()}) == ("collected", {"ok"})


def test_a_batch_has_no_more_requests_than_it_may(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(terms={"max_requests": 7})
    assert max(len(batch.requests) for batch in one.server.batches.values()) == 7


def test_a_batch_has_no_more_bytes_than_it_may(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(1, terms={"max_bytes": 4000})
    assert 1 < one.server.submits <= CALLS


@pytest.mark.parametrize("provider", TWO)
def test_nothing_of_a_batch_is_left_at_the_provider(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(deleting_s=0.3))  # longer than rows take
    one.results()
    left = one.server.files if provider == "openai" else one.server.batches
    assert (dict(left), [record.state for record in one.journal.records()]) == ({}, ["tidied"])


def test_nothing_of_the_answers_is_left_in_the_journal(batched: Callable[..., Batched]) -> None:
    one = batched()
    judge = one.judge()
    one.results(judge=judge)
    assert one.journal.asked(run="run", judge=judge.name) == []


@pytest.mark.parametrize("provider", TWO)
def test_who_does_not_wait_collects_later(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(polls=2))
    with pytest.raises(BatchesOpenError, match="1 batch open, 24 requests to answer; the same command collects them"):
        one.results(terms={"wait": False})
    found = one.results(terms={"wait": False})
    assert (len(found), one.server.seen.count("create"), one.most_paid) == (4, 1, 1)


def test_a_call_that_waits_counts_once_against_a_budget(batched: Callable[..., Batched]) -> None:
    one, budget = batched(faults=Faults(polls=3)), Budget(max_calls=4 * CALLS)
    for _ in range(2):
        with pytest.raises(BatchesOpenError):
            one.results(terms={"wait": False}, budget=budget)
    one.results(budget=budget)
    assert (budget.spent, budget.exhausted) == (4 * CALLS, False)


def test_a_budget_of_calls_is_kept(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(budget=Budget(max_calls=10))
    assert (len(one.rows()), sum(one.server.paid.values())) == (10, 10)


def test_a_budget_of_tokens_learns_from_the_first_answer(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(budget=Budget(max_tokens=10_000))
    assert [len(batch.requests) for batch in one.server.batches.values()] == [1, 4 * CALLS - 1]


@pytest.mark.parametrize("provider", TWO)
def test_what_a_cancelled_batch_had_answered_is_kept(batched: Callable[..., Batched], provider: str) -> None:
    one = batched(provider, faults=Faults(polls=10**6))
    with pytest.raises(BatchesOpenError, match="1 batch open"):
        one.results(terms={"wait": False})
    with pytest.raises(
        BatchesOpenError, match="no batch is open; without --cancel, the same command asks what is left"
    ):
        one.results(terms={"cancel": True})
    assert {row.outcome for row in one.rows()} == {"ok"}
    assert len(one.rows()) == 2 * CALLS


def test_a_cancelled_run_goes_on(batched: Callable[..., Batched]) -> None:
    one = batched(faults=Faults(polls=10**6))
    for terms in ({"wait": False}, {"cancel": True}):
        with pytest.raises(BatchesOpenError):
            one.results(terms=terms)
    one.server.faults.polls = 1
    one.results()
    assert Counter(one.server.finish().values()) == {1: 4 * CALLS}


def _cancelled(one: Batched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave batches open, and cancel them by the variables of the environment."""
    with pytest.raises(BatchesOpenError):
        one.results(terms={"wait": False})
    name, address = one.provider.upper(), one.server.url + ("/v1" if one.provider == "openai" else "")
    monkeypatch.setenv(f"{name}_API_KEY", "test")
    monkeypatch.setenv(f"{name}_BASE_URL", address)
    run_sync(cancel_batches(one.log, "run", terms=Terms(poll_s=0.02, settle_s=0.0, tell=one.told.append)))


@pytest.mark.parametrize(("provider", "faults"), [("openai", {}), ("anthropic", {}), ("openai", {"dropped": 1})])
def test_open_batches_are_cancelled_without_their_judge(
    batched: Callable[..., Batched], provider: str, faults: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = batched(provider, faults=Faults(polls=10**6, **faults))
    _cancelled(one, monkeypatch)
    assert one.log.open_batches("run") == f"{2 * CALLS} answers of batches that no row has yet"
    one.server.faults.polls = 1
    one.results()
    assert Counter(one.server.finish().values()) == {1: 4 * CALLS}
    assert one.log.open_batches("run") == ""


@pytest.mark.parametrize("provider", TWO)
def test_a_batch_that_has_ended_is_collected_by_whoever_cancels(
    batched: Callable[..., Batched], provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = batched(provider, faults=Faults(polls=2))
    _cancelled(one, monkeypatch)
    assert one.log.open_batches("run") == f"{4 * CALLS} answers of batches that no row has yet"


def test_a_batch_that_was_never_accepted_is_not_open_after_cancelling(
    batched: Callable[..., Batched], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = batched(faults=Faults(lost=1))
    _cancelled(one, monkeypatch)
    assert (one.log.open_batches("run"), one.server.seen.count("cancel")) == ("", 0)


def test_a_batch_that_may_be_one_of_those_that_run_stays_open(
    batched: Callable[..., Batched], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = batched("anthropic", faults=Faults(polls=10**6, dropped=1))
    with pytest.raises(
        BatchesOpenError, match=r"whether anthropic accepted 1 batch is not known before .* cancel again"
    ):
        _cancelled(one, monkeypatch)
    assert "1 batch open" in one.log.open_batches("run")


def test_calls_do_not_ask_what_an_open_batch_asks(batched: Callable[..., Batched]) -> None:
    one = batched(faults=Faults(polls=10**6))
    with pytest.raises(BatchesOpenError):
        one.results(terms={"wait": False})
    asked = one.server.calls
    told = r"run has 1 batch open with 24 requests to answer, which calls would pay .* or give the run another name;"
    with pytest.raises(UsageError, match=told):
        one.results(executor=LocalExecutor())
    assert one.server.calls == asked
    assert len(one.results(executor=LocalExecutor(), run="another")) == 4
    one.server.faults.polls = 1
    one.results()
    assert one.most_paid == 1


def test_a_run_that_is_ended_leaves_its_batches_open(batched: Callable[..., Batched]) -> None:
    budget = Budget()
    one = batched(faults=Faults(polls=10**6))
    one.told = type("Ending", (list,), {"append": lambda _, line: "accepted" in line and budget.end("enough")})()
    with pytest.raises(BatchesOpenError, match="1 batch open"):
        one.results(budget=budget, terms={"tell": one.told.append})
    assert one.journal.records()[0].state == "open"


def test_cases_that_may_stop_early_take_a_second_batch_for_what_is_open(batched: Callable[..., Batched]) -> None:
    one = batched(script=_failing(400, 2))  # where two answers fail, four are not enough
    found = one.results(curtail=True)
    sizes = [len(batch.requests) for batch in one.server.batches.values()]
    assert len(sizes) > 1
    assert sum(sizes) == sum(len(result.rows) for result in found) < 4 * CALLS


class _Asking:
    """A judge of its own kind around a model; `ask` makes its judgment of what answers."""

    name, identity, criteria = "own", None, None

    def __init__(self, ask: Callable[[Any], Any]) -> None:
        self._ask = ask

    async def judge(self, probe: Any) -> Judgment:
        from judgeharness_integrations.judging.judge import as_judgment

        return as_judgment(await self._ask(probe))


def test_a_judge_that_asks_twice_takes_two_batches(batched: Callable[..., Batched]) -> None:
    from support.provider_clients import MODELS

    one = batched(script=lambda _: Reply.text("A"))
    model = MODELS["openai"](one.server)

    async def ask(probe: Any) -> str:
        first = await model.ainvoke(f"{probe.case.output} or {probe.case.output_b}?")
        return str((await model.ainvoke(f"{first.content}, is that right?")).content)

    one.results(1, judge=_Asking(ask))
    assert [len(batch.requests) for batch in one.server.batches.values()] == [CALLS, CALLS]


def test_an_evaluator_of_langchain_is_asked_by_batch(batched: Callable[..., Batched]) -> None:
    evaluation = pytest.importorskip("langchain_classic.evaluation")
    one = batched(script=lambda _: Reply.text("The first is better. [[A]]"))
    evaluator = evaluation.load_evaluator("pairwise_string", llm=one.judge().model)
    one.results(1, judge=langchain.EvaluatorJudge.of(evaluator))
    assert [len(batch.requests) for batch in one.server.batches.values()] == [CALLS]


def test_an_evaluator_of_openevals_is_asked_by_batch(batched: Callable[..., Batched]) -> None:
    openevals = pytest.importorskip("openevals.llm")
    from judgeharness_openevals import OpenevalsJudge

    one = batched(script=lambda _: Reply.json({"reasoning": "so it is", "score": True}))
    prompt = "Is {outputs} right for {inputs}?"
    evaluator = openevals.create_llm_as_judge(prompt=prompt, judge=one.judge().model, feedback_key="right")
    harness = JudgeHarness.standard("labels", log=one.log, run="run", executor=BatchExecutor(terms=Terms(poll_s=0.02)))
    harness.evaluate(OpenevalsJudge.of(evaluator), AnswerCase(case_id="a", input="q", output="o"))
    assert {row.service_tier for row in one.rows()} == {"batch"}


def test_a_function_over_a_sync_client_is_asked_by_batch(batched: Callable[..., Batched]) -> None:
    from openai import OpenAI

    one = batched(script=lambda _: Reply.text("A"))
    client = OpenAI(api_key="test", base_url=f"{one.server.url}/v1")

    def judge(case: Any) -> str:
        asked = [{"role": "user", "content": case.output}]
        return client.chat.completions.create(model="gpt-4o-test", messages=asked).choices[0].message.content or ""

    one.results(1, judge=judge)
    assert [len(batch.requests) for batch in one.server.batches.values()] == [CALLS]


def test_a_judge_that_catches_everything_is_no_way_around_a_batch(batched: Callable[..., Batched]) -> None:
    from support.provider_clients import MODELS

    one = batched(script=lambda _: Reply.text("A"))
    model = MODELS["openai"](one.server)

    async def ask(probe: Any) -> str:
        try:
            return str((await model.ainvoke(probe.case.output)).content)
        except BaseException:  # noqa: BLE001 - as some judges do
            return "B"

    one.results(1, judge=_Asking(ask))
    assert {row.verdict for row in one.rows() if not row.swapped} == {"A"}


def test_a_judge_whose_question_changes_is_refused_when_it_is_collected(batched: Callable[..., Batched]) -> None:
    from support.provider_clients import MODELS

    one, numbers = batched(script=lambda _: Reply.text("A")), count()
    model = MODELS["openai"](one.server)

    async def ask(probe: Any) -> str:
        return str((await model.ainvoke(f"{probe.case.output}, at {next(numbers)}")).content)

    with pytest.raises(UsageError, match="what it asks about case 'case 0' changes from one time to the next"):
        one.results(1, judge=_Asking(ask))


def test_a_judge_that_knows_its_answer_needs_no_batch(batched: Callable[..., Batched]) -> None:
    one = batched()
    one.results(1, judge=lambda case: "A" if len(case.output) > 5 else "B")
    assert (len(one.rows()), one.server.submits) == (CALLS, 0)


def test_a_judge_that_streams_is_refused(batched: Callable[..., Batched]) -> None:
    one = batched()
    with pytest.raises(UsageError, match="its model streams, which no batch does"):
        one.results(1, judge=one.judge(streaming=True))


def test_a_model_of_another_provider_is_refused_after_one_call_at_most(batched: Callable[..., Batched]) -> None:
    one = batched()
    with pytest.raises(UsageError, match=r"cannot be asked by batch: it (asks|reaches)"):
        one.results(1, judge=langchain.PairwiseJudge(gemini_model(one.server), output="structured"))
    assert one.server.calls <= 1


def test_a_judge_that_reaches_its_model_by_another_way_is_refused_after_one_call(
    batched: Callable[..., Batched],
) -> None:
    one, numbers = batched(), count(1)

    async def ask(probe: Any) -> Judgment:
        next(numbers)
        return Judgment(answers=(), input_tokens=5)

    with pytest.raises(UsageError, match="it reaches its model by another way"):
        one.results(judge=_Asking(ask))
    assert next(numbers) == 2


def test_a_judge_that_has_to_learn_how_its_model_answers_asks_one_question_at_once(
    batched: Callable[..., Batched],
) -> None:
    one = batched()
    one.results(judge=langchain.PairwiseJudge(one.judge().model))
    assert Counter(row.service_tier for row in one.rows()) == {"batch": 4 * CALLS - 1, "default": 1}


def test_batches_need_a_log_that_keeps_them(batched: Callable[..., Batched]) -> None:
    one = batched()
    harness = JudgeHarness.standard("pairwise", executor=BatchExecutor())
    with pytest.raises(PlanError, match=re.escape("give the harness log=SqlLog(...)")):
        harness.evaluate(one.judge(), pairs(1)[0])


def test_what_other_code_asks_meanwhile_is_answered_at_once(batched: Callable[..., Batched]) -> None:
    from openai import OpenAI

    one = batched(script=lambda _: Reply.text("A"))
    one.results(1, judge=lambda _: "A")
    client = OpenAI(api_key="test", base_url=f"{one.server.url}/v1")
    said = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])
    assert said.choices[0].message.content == "A"
