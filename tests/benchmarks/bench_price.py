"""What a measurement of a pair costs by each lever, from the tokens that a loopback provider billed.

The provider has a prompt cache (from 1,024 tokens on, readable once the first answer has begun) and a tier at half the
price. Prices are those of a current model: cached input costs a tenth of other input, output eight times as much.
Every ratio is stated twice: of a case's measurement to one call as it is made without any harness at the standard tier,
and to one such call at the same tier.
"""

from __future__ import annotations

import json
import random
import sys
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _measuring import Target, report

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.batch_server import BatchServer
from support.openai_replies import Request
from support.prefix_cache import ClientJudge, PrefixCache, long_pairs
from support.provider_server import ProviderServer
from support.provider_wire import Answer

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations.judging.execution.batch_engine import BatchExecutor, Terms
from judgeharness_integrations.judging.tiers import TieredJudge
from judgeharness_integrations.verdictlog import SqlLog

CASES = 60
CONCURRENCY = 16
WORDS = 1_500
LATENCY_S = 0.5  # of a provider, so that probes of a case that leave at once find nothing cached
OUTPUTS = {"verdict_only": 1, "out_300": 300}
NOISE = 0.05  # of a judge's answers
MODEL = "gpt-4o-test"
PRICE = {"fresh": Fraction("1.25"), "cached": Fraction("0.125"), "written": Fraction("1.25"), "output": Fraction(10)}
HALF = {kind: price / 2 for kind, price in PRICE.items()}
PRICES = {(MODEL, "default"): PRICE, (MODEL, "flex"): HALF, (MODEL, "batch"): HALF}
LEVERS: dict[str, dict[str, bool]] = {
    "today": {},
    "curtail": {"curtail": True},
    "primed": {"prime_cache": True},
    "flex": {"flex": True},
    "all": {"curtail": True, "prime_cache": True, "flex": True},
    "batch": {"batch": True},
    "batch, curtail": {"batch": True, "curtail": True},
}


def said(request: Request) -> Answer:
    """Answer A, as it is shown, but for some answers that chance gives."""
    slot = json.loads(request.body["user"])
    chance = random.Random(repr(slot))  # noqa: S311 - a simulation
    verdict = "B" if chance.random() < NOISE else "A"
    swapped = {"A": "B", "B": "A"}[verdict] if slot[1] == "position_swap" else verdict
    return Answer(text=swapped)


def results_of(server: ProviderServer, *, flex: bool, batch: bool, **levers: bool) -> list[HarnessResult]:
    """Return the measurements of all cases."""
    judge: Any = ClientJudge(server)
    if flex:
        judge = TieredJudge(tier="flex", cheaper=ClientJudge(server, "flex"), standard=judge)
    levers = {"prime_cache": False, **levers}
    with ExitStack() as open_until_then:
        asking: dict[str, Any] = {"max_concurrency": CONCURRENCY}
        if batch:
            folder = open_until_then.enter_context(TemporaryDirectory())
            log = open_until_then.enter_context(SqlLog(Path(folder) / "verdicts.sqlite"))
            terms = Terms(poll_s=0.02, settle_s=0.0, tell=lambda _: None)
            asking = {"executor": BatchExecutor(terms=terms), "log": log, "run": "price"}
        harness = JudgeHarness.standard("pairwise", observers=(), **asking, **levers)
        return list(harness.evaluate_many(judge, long_pairs(CASES, words=WORDS)))


def measured(output: int, *, flex: bool = False, batch: bool = False, **levers: bool) -> dict[str, Any]:
    """Return what a case cost, in calls as a run without a harness makes them."""
    script = PrefixCache(said, latency_s=LATENCY_S, output=output)
    with BatchServer(script) if batch else ProviderServer(script) as server:
        results = results_of(server, flex=flex, batch=batch, **levers)
        calls, bill, cost = len(server.billed), server.bill(), server.cost(PRICES)
        tokens = Fraction(bill.input, calls)
    single = (tokens * PRICE["fresh"] + output * PRICE["output"]) / 10**6
    of_tier = single / 2 if flex or batch else single
    return {
        "decisions": sorted((result.case_id, result.status, result.verdict) for result in results),
        "decided": sum(result.status == "decided" for result in results),
        "calls_a_case": round(calls / CASES, 2),
        "cached_share": round(bill.cached / bill.input, 3),
        "standard_calls": round(float(cost / CASES / single), 2),
        "calls_of_the_tier": round(float(cost / CASES / of_tier), 2),
    }


def main() -> int:
    """Measure every lever; decisions must be the same with each."""
    table = {name: {lever: measured(output, **on) for lever, on in LEVERS.items()} for name, output in OUTPUTS.items()}
    decided = [one.pop("decisions") for levers in table.values() for one in levers.values()]
    if any(one != decided[0] for one in decided):
        raise RuntimeError(f"levers changed decisions: {decided}")
    result = {"benchmark": "price", "cases": CASES, "input_tokens": WORDS, "noise": NOISE, "table": table}
    result |= {f"{name}_all": levers["all"]["standard_calls"] for name, levers in table.items()}
    return report(result, [Target("out_300_all", 2.0), Target("verdict_only_all", 1.6)])


if __name__ == "__main__":
    sys.exit(main())
