"""The fault server of the tests does what its counts say."""

from __future__ import annotations

import asyncio
import json
import urllib.request

import pytest
from support.fault_judge import FaultJudge, ServerError
from support.fault_server import FAULTS, FaultServer, FaultServerProcess

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.judging.execution.retrying import is_transient, retry_after_s
from judgeharness_integrations.judging.judge import Judgment, Probe
from judgeharness_integrations.judging.perturbations import perturbation


def asked(judge: FaultJudge, case_id: str = "case") -> Judgment | Exception:
    probe = Probe(case="yes", case_id=case_id, perturbation=perturbation("none"), repetition=0, seed=0)

    async def once() -> Judgment | Exception:
        try:
            return await asyncio.wait_for(judge.judge(probe), 0.2)
        except Exception as error:  # noqa: BLE001 - whatever it is
            return error
        finally:
            await judge.aclose()

    return asyncio.run(once())


def test_an_answer_depends_on_what_was_asked_alone() -> None:
    with FaultServer(latency_s=0) as one, FaultServer(latency_s=0, seed=5) as other:
        for number in range(10):
            first, second = (asked(FaultJudge(server.url), str(number)) for server in (one, other, one)[:2])
            assert isinstance(first, Judgment)
            assert first == second
            assert (first.answers[0].outcome, first.input_tokens) == ("ok", 40)
        assert one.counts()["answered"] == other.counts()["answered"]
        assert set(one.counts()["answered"].values()) == {1}


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_is_met_as_real_clients_meet_it(kind: str) -> None:
    with FaultServer(faults={kind: 1.0}, latency_s=0, retry_after_s=0.5) as server:
        met = asked(FaultJudge(server.url))
        counts = server.counts()
    assert (counts["kinds"], counts["requests"]) == ({kind: 1}, 1)
    if kind in ("refusal", "truncated"):
        assert isinstance(met, Judgment)
        assert met.answers[0].outcome == {"refusal": "refused", "truncated": "unparsed"}[kind]
        return
    assert isinstance(met, Exception)
    assert is_transient(met)
    assert (retry_after_s(met) == 0.5) == (kind == "429_retry_after")
    assert isinstance(met, ServerError) == kind[:3].isdigit()


@pytest.mark.slow
def test_a_process_of_its_own_holds_to_its_room_and_rate() -> None:
    with FaultServerProcess(room=2, per_window=12, latency_s=0.02) as server:
        judge = FaultJudge(server.url, model="two-at-a-time")
        harness = JudgeHarness(
            perturbations=["none"], repetitions=8, aggregation_rule="majority", max_attempts=1, observers=()
        )
        server.mark()
        results = [harness.evaluate(judge, case) for case in ("one", "two")]
        judge.close()
        counts = server.counts()
    outcomes = [row.outcome for result in results for row in result.rows]
    assert (outcomes.count("ok"), counts["peak"], counts["requests"]) == (sum(counts["answered"].values()), 2, 16)
    assert counts["over_room_after_mark"] == counts["over_room"] > 0
    assert counts["over_rate_after_mark"] == counts["over_rate"] == 4


def test_it_speaks_openai_s_protocol_too() -> None:
    with FaultServer(latency_s=0) as server:
        body = json.dumps({"model": "faulty", "messages": [{"role": "user", "content": "?"}]}).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{server.url}/v1/chat/completions", body) as answer:
            document = json.load(answer)
    assert document["choices"][0]["message"]["content"].splitlines()[-1] in ("PASS", "FAIL")
    assert document["usage"]["total_tokens"] == 50
