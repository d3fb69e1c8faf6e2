"""Early stopping against brute force: every answer to every sample that is still to come."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeharness_integrations.analysis.aggregation import RULE_NAMES, Rule, curtails, decide, needed, rule, settled
from judgeharness_integrations.analysis.aggregation.curtailing import asking_order
from judgeharness_integrations.verdictlog.row import VerdictRow

LABEL_RULES = (
    "majority",
    "strict_majority",
    "supermajority(2/3)",
    "supermajority(1/4)",
    "supermajority(1)",
    "abstain_on_disagreement",
)
ORDER_RULES = ("swap_consensus", "net_preference")
NUMBER_RULES = ("median", "median(pass_at=5)", "mode", "mode(pass_at=5)")
KIND_RULES = ("majority | median", "supermajority(2/3) | mode")
SIDES = ("A", "B", "TIE", None)
MANY_LABELS = ("A", "B", "C", "D", "E", None)
SCORES = (4, 5, 7.5, None)
ANY_SCORE = (*SCORES, -1e9, 4.5, 6, 1e9)


@lru_cache(typed=True)
def sample(verdict: Any, swapped: bool) -> VerdictRow:  # noqa: FBT001 - as it stands in a plan
    return VerdictRow(case_id="c1", verdict=verdict, outcome="error" if verdict is None else "ok", swapped=swapped)


def asked(verdicts: Any, flags: Any) -> list[VerdictRow]:
    return [sample(verdict, swapped) for verdict, swapped in zip(verdicts, flags, strict=False)]


class Force:
    """All completions of one plan, worked out backwards; the order of samples within an order does not matter."""

    def __init__(self, name: str, flags: tuple[bool, ...], min_valid: int | None, answers: Any, rest: Any) -> None:
        self.rule, self.flags, self.min_valid = rule(name), flags, min_valid
        self.answers, self.rest = answers, rest
        self._outcomes: dict[Any, frozenset[Any]] = {}
        self._fewest: dict[Any, int] = {}

    def key(self, verdicts: tuple[Any, ...]) -> Any:
        shown = sorted(zip(self.flags, map(repr, verdicts), strict=False))
        return tuple(shown)

    def outcomes(self, verdicts: tuple[Any, ...]) -> frozenset[Any]:
        """Return every (status, verdict) that completions lead to."""
        key = self.key(verdicts)
        if key not in self._outcomes:
            if len(verdicts) == len(self.flags):
                decision = decide(asked(verdicts, self.flags), self.rule, min_valid=self.min_valid)
                self._outcomes[key] = frozenset({(decision.status, decision.verdict)})
            else:
                self._outcomes[key] = frozenset().union(*(self.outcomes((*verdicts, v)) for v in self.rest))
        return self._outcomes[key]

    def fewest(self, verdicts: tuple[Any, ...]) -> int:
        """Return how many samples it takes at least until one outcome is left."""
        key = self.key(verdicts)
        if key not in self._fewest:
            one = len(self.outcomes(verdicts)) == 1
            self._fewest[key] = 0 if one else 1 + min(self.fewest((*verdicts, v)) for v in self.answers)
        return self._fewest[key]

    def check(self, *, exact: bool = True) -> int:
        """Compare every state of the plan and return how many there were."""
        self.fewest(())
        states: dict[Any, tuple[Any, ...]] = {self.key(()): ()}
        for verdicts in (queue := [()]):
            if len(verdicts) < len(self.flags):
                for v in self.answers:
                    longer = (*verdicts, v)
                    if self.key(longer) not in states:
                        states[self.key(longer)] = longer
                        queue.append(longer)
            self.compare(verdicts, exact=exact)
        return len(states)

    def compare(self, verdicts: tuple[Any, ...], *, exact: bool) -> None:
        rows, remaining = asked(verdicts, self.flags), self.flags[len(verdicts) :]
        limits = {"remaining": remaining, "min_valid": self.min_valid}
        fewest, found = needed(rows, self.rule, **limits), settled(rows, self.rule, **limits)
        where = (self.rule.name, verdicts, self.flags, self.min_valid)
        assert (found is None) == (len(self.outcomes(verdicts)) > 1), where
        assert (fewest == 0) == (found is not None), where
        assert fewest == self.fewest(verdicts) if exact else fewest <= self.fewest(verdicts), where
        if found is not None:
            assert {(found.status, found.verdict)} == self.outcomes(verdicts), where
            if remaining:
                told = f"; settled after {len(verdicts)} of {len(self.flags)} samples"
                assert found.reason.endswith(told), where


def quorums(samples: int) -> list[int | None]:
    return [None, *sorted({1, 2, samples, samples + 1})]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", LABEL_RULES)
def test_labels_are_settled_exactly_when_no_completion_can_differ(name: str) -> None:
    for samples in range(1, 6):
        for min_valid in quorums(samples):
            Force(name, (False,) * samples, min_valid, MANY_LABELS, MANY_LABELS).check()


@pytest.mark.sampled(3)
@pytest.mark.untraced
@pytest.mark.parametrize("name", LABEL_RULES)
def test_with_few_labels_nothing_is_asked_past_the_moment_it_is_settled(name: str) -> None:
    for samples in (6, 7, 8):
        Force(name, (False,) * samples, None, SIDES, SIDES).check(exact=False)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NUMBER_RULES)
def test_scores_are_settled_exactly_when_no_completion_can_differ(name: str) -> None:
    for samples in range(1, 6):
        for min_valid in quorums(samples):
            Force(name, (False,) * samples, min_valid, SCORES, ANY_SCORE).check(exact=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        *("01", "10", "0011", "0101", "1001", "001", "1"),
        *(pytest.param(flags, marks=pytest.mark.untraced) for flags in ("000111", "010101", "011100")),
    ],
)
@pytest.mark.parametrize("name", ORDER_RULES)
def test_both_orders_are_settled_exactly_when_no_completion_can_differ(name: str, flags: str) -> None:
    swapped = tuple(flag == "1" for flag in flags)
    labels = SIDES if name == "net_preference" else ("A", "B", "C", "D", None)
    for min_valid in quorums(len(flags)):
        Force(name, swapped, min_valid, labels, labels).check()


@pytest.mark.parametrize("name", KIND_RULES)
@pytest.mark.parametrize(("answers", "rest"), [(SIDES, SIDES), (SCORES, ANY_SCORE)])
def test_rules_by_kind_are_settled_as_the_rule_for_what_the_judge_answers(name: str, answers: Any, rest: Any) -> None:
    for samples in (3, 4):
        force = Force(name, (False,) * samples, None, answers, rest)
        for verdicts in [("A",), ("A", "A"), ("A", None, "B")] if answers is SIDES else [(4,), (4, 4), (4, None, 5)]:
            force.compare(verdicts, exact=False)


def test_before_the_first_answer_the_quicker_of_two_rules_by_kind_counts() -> None:
    open_plan: dict[str, Any] = {"remaining": [False] * 5, "min_valid": 1}
    alone = {name: needed([], rule(name), **open_plan) for name in ("supermajority(1)", "majority", "median")}
    assert alone == {"supermajority(1)": 2, "majority": 3, "median": 3}
    assert needed([], rule("supermajority(1) | median"), **open_plan) == 2
    assert needed([], rule("majority | median"), **open_plan) == 3
    assert settled([], rule("majority | median"), **open_plan) is None


def in_turns(samples: int, *, swapped_first: bool) -> tuple[bool, ...]:
    """Return which samples of a plan of both orders are swapped, as they are asked."""
    half = samples // 2
    plan = [(repetition, swaps) for swaps in (False, True) for repetition in range(half)]
    order = asking_order(plan, rule("swap_consensus"), swapped_first=swapped_first)
    assert sorted(order) == list(range(samples))
    return tuple(plan[place][1] for place in order)


def stopped(verdicts: Any, flags: tuple[bool, ...], name: str) -> int:
    """Return after how many samples asking stops, having checked that the decision is that of all of them."""
    rows, taken = asked(verdicts, flags), 0
    while more := needed(rows[:taken], rule(name), remaining=flags[taken:]):
        taken += more
    early, full = settled(rows[:taken], rule(name), remaining=flags[taken:]), decide(rows, rule(name))
    assert early is not None
    assert (early.status, early.verdict) == (full.status, full.verdict), (name, verdicts, flags)
    return taken


@pytest.mark.parametrize("samples", [2, 4, pytest.param(6, marks=[pytest.mark.slow, pytest.mark.untraced])])
def test_orders_in_turns_decide_every_sequence_as_all_its_samples_do(samples: int) -> None:
    for swapped_first in (False, True):
        flags = in_turns(samples, swapped_first=swapped_first)
        for verdicts in product(SIDES, repeat=samples):
            stopped(verdicts, flags, "swap_consensus")


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("name", [*LABEL_RULES, "net_preference"])
def test_every_sequence_of_up_to_seven_samples_is_decided_as_all_of_them_are(name: str) -> None:
    both = rule(name).both_orders
    for samples in (2, 4, 6) if both else (1, 3, 5, 7):
        flags = tuple(both and bool(n % 2) for n in range(samples))
        for verdicts in product(SIDES, repeat=samples):
            labels = [label for label in dict.fromkeys(verdicts) if label is not None]
            if both or labels == list(SIDES[: len(labels)]):  # a rule of labels treats all of them alike
                stopped(verdicts, flags, name)


def consensus(shown: tuple[int, ...], swapped: tuple[int, ...]) -> tuple[str, Any]:
    """Return the decision on counts of A, B, TIE and failures in either order, written down anew."""
    valid, planned = sum(shown[:3]) + sum(swapped[:3]), sum(shown) + sum(swapped)
    if 2 * valid < planned:
        return "not_graded", None
    leaders = []
    for counts in (shown[:3], swapped[:3]):
        best = [label for label, count in zip(SIDES[:3], counts, strict=True) if count == max(counts) and count]
        leaders.append(best[0] if len(best) == 1 else None)
    agreed = leaders[0] if leaders[0] == leaders[1] else None
    return ("abstained", "ABSTAIN") if agreed is None else ("decided", agreed)


def drawn(state: Any, swapped: bool, side: int) -> Any:  # noqa: FBT001 - as it stands in a plan
    counts = [list(part) for part in state]
    counts[swapped][side] += 1
    return tuple(map(tuple, counts))


@pytest.mark.parametrize("samples", [4, 6, pytest.param(12, marks=[pytest.mark.slow, pytest.mark.untraced])])
def test_orders_in_turns_stop_in_no_state_of_counts_that_another_decision_can_follow(samples: int) -> None:
    flags = in_turns(samples, swapped_first=False)
    levels: list[set[Any]] = [{((0,) * 4, (0,) * 4)}]
    for flag in flags:
        levels.append({drawn(state, flag, side) for state in levels[-1] for side in range(4)})
    outcomes: dict[Any, frozenset[Any]] = {state: frozenset({consensus(*state)}) for state in levels[-1]}
    for count in reversed(range(samples)):
        for state in levels[count]:
            outcomes[state] = frozenset().union(*(outcomes[drawn(state, flags[count], side)] for side in range(4)))
            rows = [
                sample(verdict, swaps)
                for swaps, counts in zip((False, True), state, strict=True)
                for verdict, many in zip(SIDES, counts, strict=True)
                for _ in range(many)
            ]
            found = settled(rows, rule("swap_consensus"), remaining=flags[count:])
            assert found is None or outcomes[state] == {(found.status, found.verdict)}, state


@pytest.mark.parametrize(("samples", "turns", "blocks"), [(2, 2, 2), (4, 4, 4), (6, 4, 5), (12, 8, 10)])
def test_a_steady_judge_is_asked_less_in_turns_than_one_order_after_the_other(
    samples: int, turns: int, blocks: int
) -> None:
    half = samples // 2
    assert stopped("A" * samples, in_turns(samples, swapped_first=True), "swap_consensus") == turns
    assert stopped("A" * samples, (False,) * half + (True,) * half, "swap_consensus") == blocks


@pytest.mark.parametrize("name", ["majority", "net_preference", "median", "majority | median"])
def test_other_rules_are_asked_in_the_order_of_the_plan(name: str) -> None:
    assert asking_order([(0, False), (1, False), (0, True), (1, True)], rule(name), swapped_first=True) == [0, 1, 2, 3]


def test_perturbations_of_one_order_share_its_turns() -> None:
    plan = [(repetition, swaps) for swaps in (False, True, False, True) for repetition in (0, 1)]
    assert asking_order(plan, rule("swap_consensus"), swapped_first=True) == [2, 0, 6, 4, 3, 1, 7, 5]


def verdicts_for(name: str) -> st.SearchStrategy[Any]:
    if name in NUMBER_RULES:
        return st.one_of(st.integers(1, 9), st.sampled_from([5, 5.0, 4.5]), st.none())
    return st.one_of(st.sampled_from(["A", "B", "TIE"]), st.sampled_from(["A", "A", "B", None]))


@st.composite
def samplings(draw: st.DrawFn) -> tuple[str, tuple[Any, ...], tuple[bool, ...], int | None]:
    name = draw(st.sampled_from([*LABEL_RULES, *ORDER_RULES, *NUMBER_RULES, *KIND_RULES]))
    flags = draw(st.lists(st.booleans(), min_size=1, max_size=13))
    if rule(name).both_orders:
        half = 1 + len(flags) // 2
        flags = draw(st.permutations([False] * half + [True] * half))
    verdicts = draw(st.lists(verdicts_for(name), min_size=len(flags), max_size=len(flags)))
    return name, tuple(verdicts), tuple(flags), draw(st.one_of(st.none(), st.integers(1, len(flags) + 1)))


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=300)
@given(samplings())
def test_asking_what_is_needed_stops_at_the_first_settled_moment_with_the_full_decision(sampling: Any) -> None:
    name, verdicts, flags, min_valid = sampling
    rows = asked(verdicts, flags)
    full = decide(rows, rule(name), min_valid=min_valid)
    taken = 0
    while more := needed(rows[:taken], rule(name), remaining=flags[taken:], min_valid=min_valid):
        taken += more
    decisions = [
        settled(rows[:count], rule(name), remaining=flags[count:], min_valid=min_valid)
        for count in range(len(rows) + 1)
    ]
    assert [decision is not None for decision in decisions].index(True) == taken
    for decision in decisions[taken:]:
        assert decision is not None
        assert (decision.status, decision.verdict) == (full.status, full.verdict)


@given(st.lists(st.one_of(st.integers(-9, 9), st.floats(-1e99, 1e99)), max_size=7), st.integers(1, 5), st.data())
def test_a_settled_median_is_the_median_of_whatever_follows(scores: Any, left: int, data: st.DataObject) -> None:
    pass_at = data.draw(st.sampled_from(["", "(pass_at=0)", "(pass_at=5/2)"]))
    rows, remaining = asked(scores, [False] * len(scores)), [False] * left
    decision = settled(rows, rule(f"median{pass_at}"), remaining=remaining, min_valid=1)
    if decision is not None:
        more = st.one_of(st.none(), st.floats(-1e100, 1e100), st.sampled_from([*scores, -1e100, 1e100]))
        rest = data.draw(st.lists(more, min_size=left, max_size=left))
        full = decide(asked([*scores, *rest], [False] * 20), rule(f"median{pass_at}"), min_valid=1)
        assert (decision.status, decision.verdict) == (full.status, full.verdict)


def test_a_settled_decision_says_so_in_its_reason() -> None:
    rows = asked("AAAA", [False] * 4)
    decision = settled(rows, rule("majority"), remaining=[False] * 2)
    assert decision is not None
    assert decision.reason == "4 of 6 samples; settled after 4 of 6 samples"
    assert settled(rows, rule("majority"), remaining=[]) == decide(rows, rule("majority"))


@pytest.mark.parametrize("first", ["A", "B", "TIE", None])
def test_one_sample_an_order_cannot_be_cut_short_under_swap_consensus(first: str | None) -> None:
    consensus = rule("swap_consensus")
    for flags in ([False, True], [True, False]):
        assert needed([], consensus, remaining=flags) == 2
        assert settled(asked([first], flags), consensus, remaining=flags[1:]) is None
        assert needed(asked([first], flags), consensus, remaining=flags[1:]) == 1


def test_a_quorum_that_cannot_be_met_settles_a_case() -> None:
    lost = settled(asked([None, None], [False] * 2), rule("median"), remaining=[False])
    assert lost is not None
    assert (lost.status, lost.reason) == ("not_graded", "0 valid of 3 samples, 2 needed; settled after 2 of 3 samples")
    assert needed([], rule("majority"), remaining=[False] * 3, min_valid=4) == 0


def test_a_preference_that_nothing_reads_settles_the_refusal() -> None:
    foreign = settled(asked(["C"], [False]), rule("net_preference"), remaining=[True, False, True])
    assert foreign is not None
    assert foreign.status == "not_graded"


def test_verdicts_the_rule_does_not_fold_are_asked_for_to_the_end() -> None:
    for name, verdicts in (("majority", [7]), ("median", ["A"]), ("majority | median", ["A", 7])):
        rows = asked(verdicts, [False] * 2)
        assert needed(rows, rule(name), remaining=[False] * 4) == 4
        assert settled(rows, rule(name), remaining=[False] * 4) is None


def test_every_named_rule_can_be_cut_short_or_says_why_not() -> None:
    refused = {name: curtails(rule(name)) for name in RULE_NAMES}
    unbounded = {"mean", "trimmed_mean", "mean_probability", "expected_score"}
    assert {name for name, why in refused.items() if why} == unbounded
    assert refused["mean"] == "every further score can change what rule mean decides: scores have no bounds"
    assert "mean(pass_at=7)" in str(curtails(rule("mean(pass_at=7)")))
    assert [curtails(rule(name)) for name in (*LABEL_RULES, *ORDER_RULES, *NUMBER_RULES, *KIND_RULES)] == [None] * 14
    assert "rule mean " in str(curtails(rule("majority | mean")))
    own = "what rule majority makes of further samples is not known: it is a function of the caller's own"
    assert curtails(Rule("majority", len)) == own


@pytest.mark.parametrize("name", ["mean", "trimmed_mean(0.1)", "majority | mean"])
def test_a_rule_that_cannot_be_cut_short_is_settled_by_the_last_sample(name: str) -> None:
    rows = asked([7, 7, 7], [False] * 3)
    assert settled(rows, rule(name), remaining=[False]) is None
    assert needed(rows, rule(name), remaining=[False] * 2) == 2
    assert needed(rows, rule(name), remaining=[]) == 0
    assert settled(rows, rule(name), remaining=[]) == decide(rows, rule(name))
