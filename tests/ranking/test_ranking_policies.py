"""What counts as right, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.analysis.ranking.correctness import ORDER_RULES, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judgeharness_integrations.verdictlog.row import VerdictRow


@pytest.mark.parametrize("name", [*ORDER_RULES, "net_preference", "supermajority(2/3)", "median(pass_at=7)"])
def test_a_policy_keeps_the_name_of_its_rule(name: str) -> None:
    policy = Policy.of(name, failures="missing", ties="half")
    assert policy.to_dict() == {"rule": name, "failures": "missing", "ties": "half"}
    assert Policy.of(policy.rule, failures="missing", ties="half") == policy
    assert (policy.fold is None) == (name in ORDER_RULES)


def test_rules_on_orders_are_found_however_they_are_spelled() -> None:
    assert Policy.of(" both-orders ").rule == "both_orders"


def test_a_function_of_rows_is_a_rule() -> None:
    def first(rows: Sequence[VerdictRow]) -> object:
        return rows[0].verdict

    assert Policy.of(first).rule == "first"
    with pytest.raises(PlanError, match="lambda"):
        Policy.of(lambda rows: rows[0].verdict)


def test_ties_earn_nothing_unless_half_is_declared() -> None:
    assert Policy.of("one_order").tie_credit == 0
    assert Policy.of("one_order", ties="half").tie_credit == 0.5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rule": "both_order"}, r"unknown rule 'both_order': did you mean 'both_orders'\?"),
        ({"rule": "one_order", "failures": "wron"}, r"unknown failures policy 'wron': did you mean 'wrong'\?"),
        ({"rule": "one_order", "ties": "halve"}, r"unknown ties policy 'halve': did you mean 'half'\?"),
    ],
)
def test_names_that_are_not_known_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        Policy.of(**options)  # type: ignore[arg-type]


def test_a_rule_without_a_function_is_one_of_the_orders() -> None:
    with pytest.raises(UnknownNameError, match="unknown rule 'majority'"):
        Policy(rule="majority")
