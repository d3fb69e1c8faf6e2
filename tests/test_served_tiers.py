"""Which tier served what was asked of another one: counted by call, said in a sentence a tier."""

from __future__ import annotations

from typing import Any

import pytest

from judgeharness_integrations.analysis.spending import ASKED_TIER, TIER_REFUSED, ServedTiers
from judgeharness_integrations.judging.answer import ModelAnswer, booked
from judgeharness_integrations.judging.judge import Judgment
from judgeharness_integrations.verdictlog.row import VerdictRow


def row(served: str | None, *, attempts: int | None = 1, **attributes: str) -> VerdictRow:
    told: Any = {ASKED_TIER: "flex", **attributes}
    return VerdictRow(case_id="c", verdict="A", service_tier=served, attempts=attempts, attributes=told)


def told(*rows: VerdictRow) -> list[str]:
    tiers = ServedTiers()
    tiers.add(rows)
    return tiers.warnings


def test_nothing_is_said_where_every_call_was_served_as_asked() -> None:
    assert told(row("flex"), row("on_demand_flex"), VerdictRow(case_id="c", verdict="A", attempts=1)) == []


def test_what_another_tier_served_is_counted() -> None:
    rows = [row("flex"), row("default"), row("priority"), row("default", **{TIER_REFUSED: "RateLimitError"})]
    said = "4 calls asked at tier flex: 2 served at tier standard (1 refused at flex), 1 served at tier priority"
    assert told(*rows) == [said]


def test_every_tier_that_was_asked_has_a_sentence_of_its_own() -> None:
    other = VerdictRow(case_id="c", verdict="A", service_tier="flex", attempts=1, attributes={ASKED_TIER: "priority"})
    assert told(row("default"), other) == [
        "1 call asked at tier flex: 1 served at tier standard",
        "1 call asked at tier priority: 1 served at tier flex",
    ]


@pytest.mark.parametrize("made", [{"attempts": None}, {"attempts": 0}, {"cached": "shared"}])
def test_only_the_first_row_of_a_call_that_was_made_counts(made: dict[str, Any]) -> None:
    assert told(row("default", **made)) == []


def test_who_does_not_say_which_tier_served_is_counted_apart() -> None:
    assert told(row(None), row("flex")) == ["2 calls asked at tier flex: 1 whose answers do not say which tier served"]


def test_a_refusal_is_known_to_be_served_by_the_standard_tier() -> None:
    said = told(row(None, **{TIER_REFUSED: "ServerError"}))
    assert said == ["1 call asked at tier flex: 1 served at tier standard (1 refused at flex)"]


@pytest.mark.parametrize(
    ("tiers", "billed_at"),
    [
        (("flex", "default"), "default"),
        (("default", "flex"), "default"),
        (("flex", "flex"), "flex"),
        (("flex", "priority"), "priority"),
        ((None, "flex"), "flex"),
        ((None, None), None),
    ],
)
def test_a_call_that_several_tiers_served_is_billed_at_none_that_is_too_cheap(
    tiers: tuple[str | None, str | None], billed_at: str | None
) -> None:
    last, first = tiers
    one = booked(Judgment(answers=(), input_tokens=5, service_tier=last), [ModelAnswer(service_tier=first)])
    assert (one.input_tokens, one.service_tier) == (5, billed_at)
