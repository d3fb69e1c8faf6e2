"""`check_adapter`: what it runs, what it reports, and what it refuses."""

from __future__ import annotations

import asyncio

import pytest
from support.toy_adapter import Toy, toy_bench

from judgeharness_integrations import HarnessResult
from judgeharness_integrations._errors import NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.judging.adapterkit import Native
from judgeharness_integrations.judging.adapters import Adapter
from judgeharness_integrations.testing import CHECKS, AdapterReport, ScriptedJudge, check_adapter, check_bench


class Undecided(Toy):
    def verdict(self, result: HarnessResult) -> str | None:
        return "A" if result.status != "decided" else super().verdict(result)


def adapter(*benches: object, module: str = "json") -> Adapter:
    return Adapter(
        name="toy",
        extras={"toy": (module,)},
        build_judge=lambda spec: ScriptedJudge(["A"], name=spec.name),
        benches=(lambda: benches) if benches else None,
    )


def test_every_check_of_every_bench_is_reported() -> None:
    report = check_adapter(adapter(toy_bench(), toy_bench(name="graded", pairwise=False)))
    assert report.passed is True
    assert report.failures == ()
    assert [result.check for result in report.results] == [*CHECKS] * 2
    assert {result.bench for result in report.results} == {"toy", "graded"}
    assert "graded, original_frame: opted out (one answer has no order)" in str(report).splitlines()
    assert "toy, json: pass" in str(report).splitlines()
    report.raise_for_failures()


def test_failures_are_reported_together() -> None:
    report = check_adapter(adapter(toy_bench(Undecided)))
    assert report.passed is False
    assert [result.check for result in report.failures] == [
        "original_frame",
        "tie_is_no_abstention",
        "failures_are_outcomes",
    ]
    with pytest.raises(AssertionError) as caught:
        report.raise_for_failures()
    first, *lines = str(caught.value).splitlines()
    assert first == "adapter 'toy':"
    assert lines[1] == "toy, tie_is_no_abstention: fail (an abstention was reported as A)"
    assert len(lines) == 3


def test_what_is_no_bench_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"adapter 'toy' brings a dict as bench: give a testing\.Bench"):
        check_adapter(adapter({}))


def test_nothing_checked_is_neither_passed_nor_failed() -> None:
    report = check_adapter(adapter())
    assert report.passed is None
    assert str(report).endswith("no benches")
    with pytest.raises(AssertionError, match="adapter 'toy' has no benches: nothing was checked"):
        report.raise_for_failures()


def test_opting_out_of_everything_is_no_pass() -> None:
    report = check_adapter(adapter(toy_bench(opted_out=dict.fromkeys(CHECKS, "no time"))))
    assert report.passed is None
    with pytest.raises(AssertionError, match="adapter 'toy' opts out of every check: nothing was checked"):
        report.raise_for_failures()


def test_the_suite_runs_in_a_notebook() -> None:
    class Scripts(Toy):
        def evaluate(self, first: str, second: str) -> Native:
            return asyncio.run(self.aevaluate(first, second))

    async def notebook() -> AdapterReport:
        return check_adapter(adapter(toy_bench(Scripts, opted_out={"running_loop": "it is for scripts"})))

    assert asyncio.run(notebook()).failures == ()


def test_opting_out_needs_a_reason_and_a_check() -> None:
    with pytest.raises(UsageError, match="bench 'toy' opts out of 'json': say why"):
        toy_bench(opted_out={"json": " "})
    with pytest.raises(UnknownNameError, match="unknown check 'jsn': did you mean 'json'"):
        check_bench(toy_bench(opted_out={"jsn": "there is none"}))


def test_an_adapter_whose_framework_is_missing_is_not_checked() -> None:
    with pytest.raises(NotInstalledError, match=r"pip install '\.\[toy\]'"):
        check_adapter(adapter(toy_bench(), module="no_such_module"))
    with pytest.raises(UnknownNameError, match="did you mean 'langchain'"):
        check_adapter("langchian")
