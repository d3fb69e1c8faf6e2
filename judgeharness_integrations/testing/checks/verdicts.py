"""Checks of what a framework says was decided: frames, ties, abstentions, failures."""

from __future__ import annotations

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations.testing.bench import Bench
from judgeharness_integrations.testing.checks._bench_work import (
    FIRST,
    SECOND,
    distribution,
    expect,
    harness_of,
    labels_of,
    measured,
    only_criterion,
)
from judgeharness_integrations.testing.script import GARBAGE, Script

__all__ = ["check_failures_are_outcomes", "check_original_frame", "check_tie_is_no_abstention"]


def check_original_frame(bench: Bench) -> None:
    """Both orders are shown, and verdicts come back in the order of the caller's texts."""
    _expect_swaps(bench)
    harness = harness_of(2, "none", "position_swap", rule="swap_consensus")
    kept = "B" if bench.pairwise else "PASS"  # the judge looks at the texts, not at their places
    script = Script(_prefers_second if bench.pairwise else (kept,))
    native = measured(bench, script, harness)
    orders = {_second_first(prompt) for prompt in script.prompts}
    expect(orders == {True, False}, "both orders were asked for and the model was not shown both")
    found = distribution(native)
    expect(found == {kept: 4}, f"four samples for {kept} in either order were recorded as {found}")
    expect(native.verdict == kept, f"a judge that says {kept} in both orders was reported as {native.verdict}")
    _check_place_bias(bench)


def _check_place_bias(bench: Bench) -> None:
    """A judge that looks at the places alone has no verdict."""
    harness = harness_of(2, "none", "position_swap", rule="swap_consensus")
    first, second = labels_of(bench)
    native = measured(bench, ("A",) if bench.pairwise else _passes_in_order, harness)
    found = distribution(native)
    expect(found == {first: 2, second: 2}, f"a judge that goes by the place alone was recorded as {found}")
    expect(native.verdict is None, f"a judge that goes by the place alone was reported as {native.verdict}")


def check_tie_is_no_abstention(bench: Bench) -> None:
    """A tie the judge declares is a verdict; samples that disagree are none, and no negative verdict either."""
    if bench.pairwise:
        tie = measured(bench, ("TIE",), harness_of(2))
        expect(tie.verdict == "TIE", f"a judge that says TIE was reported as {tie.verdict}")
        expect(only_criterion(tie)["status"] == "decided", "a tie the judge declared was not recorded as decided")
    labels = labels_of(bench)
    for label in labels:
        decided = measured(bench, (label,), harness_of(2))
        expect(decided.verdict == label, f"a judge that says {label} was reported as {decided.verdict}")
    split = measured(bench, labels, harness_of(2))
    status = only_criterion(split)["status"]
    expect(status == "abstained", f"samples that disagree evenly were recorded as {status}")
    expect(split.verdict is None, f"an abstention was reported as {split.verdict}")


def check_failures_are_outcomes(bench: Bench) -> None:
    """Calls that fail and replies nobody can read are counted as such, and never as verdicts."""
    label, _ = labels_of(bench)
    down = ConnectionError("the bench's model is down")
    native = measured(bench, (label, down, GARBAGE, label), harness_of(4))
    _expect_outcomes(only_criterion(native)["outcomes"], ok=2, error=1, unparsed=1)
    expect(distribution(native) == {label: 2}, f"two of four samples failed, and recorded were {distribution(native)}")
    failed = measured(bench, (down, GARBAGE), harness_of(2))
    _expect_outcomes(only_criterion(failed)["outcomes"], ok=0, error=1, unparsed=1)
    status = only_criterion(failed)["status"]
    expect(status == "not_graded", f"a case of which every sample failed was recorded as {status}")
    expect(failed.verdict is None, f"a case of which every sample failed was reported as {failed.verdict}")
    _expect_nothing_decided(bench, down)


def _expect_nothing_decided(bench: Bench, down: Exception) -> None:
    """A model that is down is `NotGradedError`, as where an evaluator raises, or a result without a verdict."""
    try:
        dead = measured(bench, (down,), harness_of(2))
    except NotGradedError as error:
        expect(len(error.results) == 1, f"the error of one case holds {len(error.results)} results")
        return
    expect(dead.verdict is None, f"a case whose model is down was reported as {dead.verdict}")


def _expect_outcomes(found: dict[str, int], **wanted: int) -> None:
    counted = {name: count for name, count in found.items() if count}
    wanted = {name: count for name, count in wanted.items() if count}
    expect(counted == wanted, f"outcomes were {wanted} and recorded as {counted}")


def _expect_swaps(bench: Bench) -> None:
    swaps = bench.perturbation == "position_swap"
    expect(swaps, "nothing shows two texts in both orders: opt out, and say that there is no order of texts")


def _second_first(prompt: str) -> bool:
    for text in (FIRST, SECOND):
        expect(text in prompt, f"the prompt does not show {text!r}")
    return prompt.find(SECOND) < prompt.find(FIRST)


def _prefers_second(prompt: str) -> str:
    return "A" if _second_first(prompt) else "B"


def _passes_in_order(prompt: str) -> str:
    return "FAIL" if _second_first(prompt) else "PASS"
