"""What a run may spend, by options that go before the keys of the configuration, and what it spent, noted meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.cli._summary_usage import bill_of
from judgeharness_integrations.cli.run import RunLimits
from judgeharness_integrations.config import Config
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.prices import Price, Spent
from judgeharness_integrations.pricetable import prices_of

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.sql.runs import ModelUsage

__all__ = ["Spending", "noting_spent"]

_EVERY_S = 0.5
_LIMITS = ("calls", "tokens", "cost")


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What a run may spend as a whole, over all its goes; `planned` refuses a larger plan before the first call.

    `named` are the limits as they were given: by options of the command, or by keys.
    """

    planned: int | None
    calls: int | None
    tokens: int | None
    cost: float | None
    prices: dict[str, Price]
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config, limits: RunLimits) -> Spending:
        """Return the limits of a configuration and of options, which go first."""
        execution, budget = config.execution, config.execution.budget
        found: dict[str, Any] = {}
        named: dict[str, str] = {}
        for name, option, key in (
            ("planned", limits.max_calls, execution.max_calls),
            ("calls", limits.budget_calls, budget.calls),
            ("tokens", limits.budget_tokens, budget.tokens),
            ("cost", limits.budget_cost, budget.cost),
        ):
            found[name] = key if option is None else option
            word = "max_calls" if name == "planned" else f"budget.{name}"
            named[name] = word if option is None else "--" + word.replace("_", "-").replace(".", "-")
        return cls(**found, prices=prices_of(config), named=named)

    @property
    def shown(self) -> str | None:
        """The budget in words; None without one."""
        calls = self.calls if self.planned is None else min(self.planned, self.calls or self.planned)
        if self.calls is None and self.tokens is None and self.cost is None:
            return None
        parts = [] if calls is None else [f"{calls} calls, retries included"]
        parts += [] if self.tokens is None else [f"{self.tokens} tokens"]
        parts += [] if self.cost is None else [f"{self.cost:g} by the prices given"]
        return ", ".join(parts)

    def budget(self, usage: Sequence[ModelUsage] = (), *, spent: int | None = None) -> Budget:
        """Return the budget of a run that has used this much before; `spent` attempts were noted of it.

        Raises:
            UsageError: there is a limit of money without prices, or what was used of it is not known.

        """
        if self.cost is not None and not self.prices:
            raise UsageError(
                f"{self.named['cost']} needs prices, per million tokens: add execution.prices to the configuration, as "
                "in prices: {gpt-4o: {input: 2.5, output: 10}}."
            )
        limits = [(limit, name) for name in ("planned", "calls") if (limit := getattr(self, name)) is not None]
        calls, named = min(limits, default=(None, "calls"))
        bill = bill_of(usage, self.prices)
        if self.tokens is not None and any(one.unreported_calls for one in usage):
            silent = sum(one.unreported_calls for one in usage)
            raise UsageError(_unknown("tokens", f"{silent} of its answers did not report their tokens"))
        if self.cost is not None and bill.cost is None:
            raise UsageError(_unknown("cost", "; ".join(bill.remarks)))
        return Budget(
            max_calls=calls,
            max_tokens=self.tokens,
            max_cost=self.cost,
            prices=self.prices or None,
            spent=max(spent or 0, sum(one.attempts or 0 for one in usage)),
            tokens=sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in usage),
            cost=bill.cost,
            largest=tuple(_largest(one) for one in usage),
            named={
                f"max_{name}": self.named.get(named if name == "calls" else name, f"max_{name}") for name in _LIMITS
            },
        )


def _largest(one: ModelUsage) -> Spent:
    """Return what no call took more than: the most of each kind of tokens, and the fewest from the provider's cache."""
    return Spent(
        one.largest_input,
        one.largest_output,
        one.model,
        one.least_cached_input,
        one.largest_cache_write,
        one.service_tier,
    )


def _unknown(limit: str, why: str) -> str:
    return (
        f"the budget of {limit} cannot be kept, for what the run spent before is not known: {why}; add what is missing "
        "or limit the calls instead; nothing was asked."
    )


@contextmanager
def noting_spent(log: SqlLog, run: str, budget: Budget | None, *, every_s: float = _EVERY_S) -> Iterator[None]:
    """Note the attempts a budget counted twice a second, those in flight included: a kill loses no more of them.

    Rows say nothing of rewordings and of calls that were cut off.
    """
    if budget is None:
        yield
        return
    over = threading.Event()

    def work() -> None:
        noted = budget.spent
        while not over.wait(every_s):
            if (spent := budget.spent) != noted:
                with suppress(JudgeHarnessError):  # whoever writes rows will say so
                    log.note(run, attempts_spent=spent)
                    noted = spent

    thread = threading.Thread(target=work, name="judgeharness-spent", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
