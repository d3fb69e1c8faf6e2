"""Two thousand calls, a fifth of them faulty in every way a provider has: nothing is lost, nothing is paid twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from support.openai_replies import Reply
from support.openai_server import OpenAIServer, chat_model
from support.provider_server import Request
from support.provider_wire import Answer, Tokens

from judgeharness_integrations import JudgeHarness, PairwiseCase
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.structured import structured_case
from judgeharness_integrations.judging.tiers import TieredJudge

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LONG = 'I quote: {"reasoning": "[[ {' + "and so on [[ { " * 200_000  # 3 MB that is no JSON
USED = Tokens(input=2000, output=20, cached=1500, written=100)
PRICES = {"fresh": Fraction(5, 2), "cached": Fraction(1, 4), "written": Fraction(25, 8), "output": Fraction(10)}
PRICE = Price(input=2.5, output=10.0, cached_input=0.25, cache_write=3.125)


def used(**facts: Any) -> Reply:
    return Reply.of(Answer(tokens=USED, **facts))


# What comes of a request, and what its row is to say; None: it is to be asked again.
FAULTS: Mapping[str, tuple[Callable[[], Reply], str | None]] = {
    "429": (lambda: Reply.status(429, retry_after=0.01), None),
    "500": (lambda: Reply.status(500), None),
    "503": (lambda: Reply.status(503, retry_after=0.01), None),
    "529": (Reply.overloaded, None),
    "408": (lambda: Reply.status(408), None),
    "reset": (Reply.reset, None),
    "half closed": (Reply.half_closed, None),
    "no JSON": (Reply.malformed, None),
    "no choices": (lambda: used(ended="empty"), None),
    "no answer in time": (lambda: Reply.timeout(60), None),
    "cut off": (lambda: used(text='{"reasoning": "half', ended="cut_off"), "unparsed"),
    "filtered": (lambda: used(text="half", ended="blocked"), "refused"),
    "refused": (lambda: used(text="I will not.", ended="refused"), "refused"),
    "3 MB": (lambda: used(text=LONG), "unparsed"),
}


def own_judge(model: Any) -> Any:
    from judgeharness_langchain import PairwiseJudge

    return PairwiseJudge(model, output="structured")


def chain(model: Any) -> Any:
    from langchain_classic.evaluation import PairwiseStringEvalChain

    from judgeharness_langchain.evaluators import EvaluatorJudge

    return EvaluatorJudge.of(PairwiseStringEvalChain.from_llm(llm=model))


def openevals(model: Any) -> Any:
    from openevals.llm import create_llm_as_judge

    from judgeharness_openevals.judges import OpenevalsJudge

    return OpenevalsJudge.of(create_llm_as_judge(prompt="{inputs} {outputs}?", judge=model))


JUDGES: dict[str, tuple[Callable[[Any], Any], Answer]] = {
    "our own": (own_judge, Answer(arguments={"reasoning": "r", "verdict": "Assistant A"}, tokens=USED)),
    "a chain": (chain, Answer(text="So it is. [[A]]", tokens=USED)),
    "openevals": (openevals, Answer(arguments={"reasoning": "r", "score": True}, tokens=USED)),
}


class Faulty:
    """Answers, faulty for a fifth of the requests."""

    def __init__(self, healthy: Answer) -> None:
        self.source, self.healthy = Random(7), healthy  # noqa: S311 - a fixed draw
        self.expected: Counter[str] = Counter()
        self.given: Counter[str] = Counter()

    def __call__(self, request: Request) -> Reply:
        if request.number and self.source.random() < 0.2:
            kind = self.source.choice(list(FAULTS))
            reply, outcome = FAULTS[kind]
            self.given[kind] += 1
            if outcome is not None:
                self.expected[outcome] += 1
            return reply()
        self.expected["ok"] += 1
        return Reply.of(self.healthy)


def judge_of(kind: str, server: OpenAIServer, tier: str | None) -> Any:
    make, _ = JUDGES[kind]
    standard = make(chat_model(server, timeout=60))
    if tier is None:
        return standard
    return TieredJudge(tier=tier, cheaper=make(chat_model(server, timeout=60, service_tier=tier)), standard=standard)


@pytest.mark.parametrize(
    ("kind", "cases", "tier"),
    [("our own", 334, None), ("our own", 67, "flex"), ("a chain", 67, None), ("openevals", 67, None)],
)
def test_nothing_is_lost_or_paid_twice(kind: str, cases: int, tier: str | None) -> None:
    _, healthy = JUDGES[kind]
    script = Faulty(healthy)
    budget = Budget(max_calls=10**6, prices={"*": PRICE})
    harness = JudgeHarness(
        perturbations=["none"],
        repetitions=6,
        aggregation_rule="majority",
        max_concurrency=32,
        timeout_s=20,
        max_attempts=12,
        budget=budget,
    )
    given = [
        structured_case(case_id=str(n), inputs=f"q{n}", outputs="a")
        if kind == "openevals"
        else PairwiseCase(case_id=str(n), input=f"q{n}", output="yes", output_b="no")
        for n in range(cases)
    ]
    with OpenAIServer(script) as server:
        results = list(harness.evaluate_many(judge_of(kind, server, tier), given))
        rows = [row for result in results for row in result.rows]
        outcomes = Counter(row.outcome for row in rows)
        assert len(results) == cases
        assert len(rows) == 6 * cases
        assert outcomes == script.expected, script.given  # each answer is one row: none is lost, none is asked again
        assert set(script.given) == set(FAULTS) or cases < 300
        bill, money = server.bill(), server.cost({("gpt-4o-test", name): PRICES for name in ("default", "flex")})
        tokens = [
            sum(getattr(result.usage, name) or 0 for result in results)
            for name in ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens")
        ]
        assert tokens == [bill.input, bill.output, bill.cached, bill.written]
        assert {row.attributes.get("asked_tier") for row in rows} == {tier}
        assert any("tier_refused" in row.attributes for row in rows) == (tier is not None)
        assert budget.cost == pytest.approx(float(money), rel=1e-9)


INTERRUPTED = """
import sys
from judgeharness_integrations import JudgeHarness, PairwiseCase
from judgeharness_langchain import PairwiseJudge
from langchain_openai import ChatOpenAI

model = ChatOpenAI(base_url=sys.argv[1], api_key="test", model="gpt-4o-test", max_retries=0)
cases = [PairwiseCase(case_id=str(n), input=f"q{n}", output="yes", output_b="no") for n in range(500)]
harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority")
print("begun", flush=True)
for result in harness.evaluate_many(PairwiseJudge(model, output="text"), cases):
    pass
"""


def test_an_interrupt_ends_a_run_of_long_answers_at_once() -> None:
    with OpenAIServer([used(text=LONG)]) as server:
        command = [sys.executable, "-c", INTERRUPTED, f"{server.url}/v1"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
        try:
            while server.calls < 20:
                assert child.poll() is None
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=20)  # one answer in LangChain's parser takes longer than an hour
        finally:
            child.kill()
    assert child.returncode != 0
