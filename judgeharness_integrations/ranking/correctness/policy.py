"""What counts as right: the rule, what a failed answer earns, what a tie earns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.aggregation.rules import RULE_NAMES, Rule, RuleLike
from judgeharness_integrations.aggregation.rules import rule as named_rule

__all__ = ["ORDER_RULES", "Failures", "Policy", "Ties"]

Failures: TypeAlias = Literal["wrong", "missing"]
Ties: TypeAlias = Literal["wrong", "half"]

ORDER_RULES: Final = ("one_order", "both_orders")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a judge earns credit on a pair.

    `rule`: `one_order` (right in the order as given), `both_orders` (right in each of the two orders), or the name of
    any aggregation rule, the decision of which is compared with gold. `failures`: an answer that failed or could not be
    parsed is `wrong`, or `missing` as if it had not been asked. `ties`: a decided TIE where gold names a side, and no
    decision, are `wrong` or earn `half`.

    Raises:
        UnknownNameError: a policy is not known, or a rule without a function.

    """

    rule: str
    failures: Failures = "wrong"
    ties: Ties = "wrong"
    fold: Rule | None = None

    def __post_init__(self) -> None:
        """Refuse names that are not known."""
        for kind, value, known in (("failures", self.failures, Failures), ("ties", self.ties, Ties)):
            if value not in get_args(known):
                raise UnknownNameError(f"{kind} policy", value, get_args(known))
        if self.fold is None and self.rule not in ORDER_RULES:
            raise UnknownNameError("rule", self.rule, ORDER_RULES)

    @classmethod
    def of(cls, rule: RuleLike, *, failures: Failures = "wrong", ties: Ties = "wrong") -> Policy:
        """Return the policy of a rule's name, a function of rows, or a `Rule`.

        Raises:
            UnknownNameError: the rule or a policy is not known.
            PlanError: a parameter of the rule cannot be used.

        """
        if isinstance(rule, str) and (name := rule.strip().replace("-", "_")) in ORDER_RULES:
            return cls(rule=name, failures=failures, ties=ties)
        try:
            fold = named_rule(rule)
        except UnknownNameError:
            raise UnknownNameError("rule", str(rule).partition("(")[0].strip(), [*ORDER_RULES, *RULE_NAMES]) from None
        return cls(rule=fold.name, failures=failures, ties=ties, fold=fold)

    @property
    def both_orders(self) -> bool:
        """Whether a pair counts only where it was answered in both orders."""
        return self.rule == "both_orders" or (self.fold is not None and self.fold.both_orders)

    @property
    def tie_credit(self) -> float:
        """Credit of a tie where gold names a side."""
        return 0.5 if self.ties == "half" else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON keeps it."""
        return {"rule": self.rule, "failures": self.failures, "ties": self.ties}
