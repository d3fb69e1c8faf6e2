"""Self-preference: choices of a judge's own family against those of other judges on the same pairs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.ranking.correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    CriterionDecisions,
    Decisions,
    Policy,
)
from judgeharness_integrations.analysis.ranking.families import SelfPreference, self_preference
from judgeharness_integrations.analysis.ranking.panels import JudgeFacts

A, B, TIE = 0, 1, 2
JUDGES = ("gpt@cot", "GPT", "claude", "llama")
PREFERS_A = {A: 1.0, B: 0.0, TIE: 0.5, ABSTAINED: 0.5}
AUTHORS = st.lists(st.sampled_from(["gpt", "claude", "other", None]), min_size=9, max_size=9)
CODES = hnp.arrays(np.int32, (9, 4), elements=st.sampled_from([A, B, TIE, ABSTAINED, FAILED, NOT_ASKED]))


def decided(codes: object, author: object, author_b: object, judges: tuple[str, ...] = JUDGES) -> Decisions:
    table = np.asarray(codes, np.int32)
    entry = CriterionDecisions(
        criterion="verdict",
        labels=("A", "B", "TIE"),
        codes=table,
        gold=np.full(len(table), -1, np.int32),
        orders=np.stack([table, table]),
    )
    return Decisions(
        judges=judges,
        pairs=tuple(f"p{place}" for place in range(len(table))),
        criteria={"verdict": entry},
        policy=Policy.of("one_order"),
        columns={"author": tuple(author), "author_b": tuple(author_b)},  # type: ignore[arg-type]
    )


def slowly(decisions: Decisions, judge: int) -> tuple[list[float], list[float]]:
    """Own choices and others' mean choices, pair by pair."""
    families = [name.partition("@")[0].casefold() for name in decisions.judges]
    mine, theirs = [], []
    codes = decisions.criterion("verdict").codes.tolist()
    for row, one, two in zip(codes, decisions.columns["author"], decisions.columns["author_b"], strict=True):
        if one is None or two is None or (one == families[judge]) == (two == families[judge]):
            continue
        own = {code: value if one == families[judge] else 1 - value for code, value in PREFERS_A.items()}
        others = [
            own[code] for code, family in zip(row, families, strict=True) if family != families[judge] and code in own
        ]
        if row[judge] in own and others:
            mine.append(own[row[judge]])
            theirs.append(float(np.mean(others)))
    return mine, theirs


@given(CODES, AUTHORS, AUTHORS)
def test_the_rates_are_those_of_the_definition(codes: np.ndarray, author: list[str], author_b: list[str]) -> None:
    decisions = decided(codes, author, author_b)
    for place, found in enumerate(self_preference(decisions, "verdict")):
        mine, theirs = slowly(decisions, place)
        assert (found.judge, found.pairs) == (JUDGES[place], len(mine))
        assert (found.reason is None) == bool(mine)
        assert found.own_rate == (pytest.approx(np.mean(mine)) if mine else None)
        assert found.others_rate == (pytest.approx(np.mean(theirs)) if mine else None)
        differences = np.subtract(mine, theirs)
        assert found.difference == (pytest.approx(differences.mean(), abs=1e-12) if mine else None)
        assert found.se == (pytest.approx(stats.sem(differences), abs=1e-12) if len(mine) > 1 else None)
        if found.ci95 is not None:
            reference = stats.t.interval(0.95, len(mine) - 1, differences.mean(), stats.sem(differences))
            assert found.ci95 == pytest.approx(reference)
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.slow
@given(CODES, AUTHORS, AUTHORS)
def test_which_answer_is_called_a_does_not_matter(codes: np.ndarray, author: list[str], author_b: list[str]) -> None:
    turned = np.select([codes == A, codes == B], [B, A], codes)
    as_given = self_preference(decided(codes, author, author_b), "verdict")
    for one, other in zip(as_given, self_preference(decided(turned, author_b, author), "verdict"), strict=True):
        assert other.pairs == one.pairs
        assert other.difference == (None if one.difference is None else pytest.approx(one.difference, abs=1e-12))


def test_a_judge_that_always_chooses_its_own() -> None:
    sides = [("gpt", "claude"), ("claude", "gpt")] * 4
    mine = [A, B] * 4
    codes = np.stack([mine, [A] * 8, [B] * 8, [TIE, TIE, ABSTAINED, FAILED, NOT_ASKED, A, A, TIE]], axis=1)
    judges = ("gpt", "claude", "llama", "mistral")
    found = self_preference(decided(codes, *zip(*sides, strict=True), judges=judges), "verdict")
    own = found[0]
    # claude and llama are right half of the time each; mistral counts half, or 0 where it chose claude's answer
    theirs = [(1 + 0 + 0.5) / 3, (0 + 1 + 0.5) / 3, 0.5, 0.5, 0.5, (0 + 1 + 0) / 3, (1 + 0 + 1) / 3, 0.5]
    assert (own.own_rate, own.pairs, own.judges) == (1.0, 8, 3)
    assert own.others_rate == pytest.approx(np.mean(theirs))
    assert own.difference == pytest.approx(1 - np.mean(theirs))
    assert own.ci95 is not None
    assert own.ci95[0] > 0
    assert [one.reason for one in found[2:]] == ["no pair has exactly one answer of its family"] * 2
    assert found[3] == SelfPreference(
        judge="mistral", family="mistral", pairs=0, own_rate=None, others_rate=None, difference=None, se=None,
        ci95=None, judges=0, reason="no pair has exactly one answer of its family",
    )  # fmt: skip


def test_families_are_told_by_facts_for_judges_and_authors_alike() -> None:
    facts = {
        "gpt": JudgeFacts(judge="gpt", provider="OpenAI"),
        "davinci": JudgeFacts(judge="davinci", provider="openai"),
        "claude": JudgeFacts(judge="claude", provider="google", family="anthropic"),
    }
    sides = [("davinci", "llama-3"), ("llama-3", "davinci"), ("davinci", "gpt"), ("claude", "davinci")]
    decisions = decided([[A] * 4] * 4, *zip(*sides, strict=True), judges=("gpt@cot", "davinci", "claude", "llama"))
    found = {one.judge: one for one in self_preference(decisions, "verdict", facts)}
    assert [one.family for one in found.values()] == ["OpenAI", "openai", "anthropic", "llama"]
    assert (found["gpt@cot"].pairs, found["gpt@cot"].judges) == (3, 2)  # davinci is of its family
    assert (found["claude"].pairs, found["claude"].judges) == (1, 3)
    assert found["claude"].difference == 0.0
    assert (found["claude"].se, found["claude"].ci95) == (None, None)  # one pair has no spread
    assert found["llama"].pairs == 0


def test_numbers_may_be_authors() -> None:
    decisions = decided([[A, B]] * 3, [7.0, 7.0, 8.0], [8.0, None, 8.0], judges=("7.0", "8.0"))
    assert [one.pairs for one in self_preference(decisions, "verdict")] == [1, 1]


def test_why_nothing_was_measured() -> None:
    sides = (["gpt"] * 3, ["claude"] * 3)
    alone = self_preference(decided([[A], [B], [A]], *sides, judges=("gpt",)), "verdict")
    assert alone[0].reason == "no judge of another family to compare with"
    silent = self_preference(
        decided([[FAILED, A], [NOT_ASKED, A], [A, FAILED]], *sides, judges=("gpt", "x")), "verdict"
    )
    assert (
        silent[0].reason == "it and a judge of another family decided none of the pairs with one answer of its family"
    )


def test_nothing_without_authors_or_a_choice() -> None:
    decisions = decided([[A]], ["gpt"], ["claude"], judges=("gpt",))
    assert self_preference(replace(decisions, columns={"author": ("gpt",)}), "verdict") == ()
    for labels in (("FAIL", "PASS"), ("A", "B", "C"), ("TIE",), ()):  # A, B and C are grades
        entry = replace(decisions.criterion("verdict"), labels=labels)
        assert self_preference(replace(decisions, criteria={"verdict": entry}), "verdict") == ()
    with pytest.raises(UnknownNameError, match="verdict"):
        self_preference(decisions, "verdit")
