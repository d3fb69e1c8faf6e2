"""What a plan costs, before its first call: by what earlier answers took, else by the texts of the cases alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.cli._summary_usage import Prices, bill_of
from judgeharness_integrations.plan import Plan
from judgeharness_integrations.prices import Billed, Spent, billed, names_of

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.sql.runs import ModelUsage

__all__ = ["Asking", "input_of", "money_notes", "usage_before"]

BYTES_PER_TOKEN: Final = 4
_MOST_CASES: Final = 1000
_MOST_RUNS: Final = 20


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One judge of a plan, and what its earlier answers used: those of this run, or of the last one that asked it."""

    judge: str
    model: str | None
    plan: Plan
    answered: int = 0
    before: Sequence[ModelUsage] = ()

    @property
    def calls(self) -> int:
        """Calls of the judge that are still to be made."""
        return max(self.plan.calls + self.plan.calibration_calls - self.answered, 0)

    @property
    def told(self) -> str:
        """Those calls in words."""
        return f"{self.calls} call{'' if self.calls == 1 else 's'} of {self.judge}"


def money_notes(asked: Iterable[Asking], prices: Prices, cases: Iterable[object]) -> Iterator[str]:
    """Yield what each judge is going to cost and what that is known from; nothing without prices."""
    if not prices:
        return
    tokens = input_of(cases)
    for one in asked:
        known = bill_of(one.before, prices)
        made = sum(used.made_calls for used in one.before)
        if made and known.cost is not None:
            each = known.cost / made
            found, why = each * one.calls, f"{each:.5f} a call, the mean of {made} earlier calls"
            yield f"money: about {found:.4f} for {one.told} ({'; '.join((why, *known.remarks))})"
        else:
            yield _by_texts(one, billed(Spent(tokens, 0, one.model), prices), tokens)


def _by_texts(one: Asking, bill: Billed, tokens: int | None) -> str:
    """Return what is known before the first answer: what it costs to read the texts of the cases."""
    if bill.cost is None or tokens is None:
        why = "; ".join(bill.remarks) if tokens is not None else "the texts of its cases are not known"
        return f"money: not known for {one.told} before its first answers: {why}"
    said = "; ".join((f"{tokens} tokens a call, estimated at {BYTES_PER_TOKEN} bytes a token", *bill.remarks))
    return (
        f"money: at least {bill.cost * one.calls:.4f} for {one.told} to read the texts of the cases "
        f"({said}); its instructions and answers come on top, known after the first answers"
    )


def input_of(cases: Iterable[object]) -> int | None:
    """Return how many tokens the texts of a case have, a mean over the first thousand; None without texts."""
    sizes = [
        sum(len(text.encode(errors="surrogatepass")) for text in case.all_texts())
        for case in islice(cases, _MOST_CASES)
        if isinstance(case, AnswerCase)
    ]
    return round(sum(sizes) / len(sizes) / BYTES_PER_TOKEN) if sizes else None


def usage_before(
    log: SqlLog | None, judge: str, model: str | None, usage: Iterable[ModelUsage]
) -> Sequence[ModelUsage]:
    """Return what a judge used of its model in this run (`usage`), else in the last run of the log that asked it."""
    mine = _made(usage, judge, model)
    for record in reversed(() if log is None or mine else log.records()[-_MOST_RUNS:]):
        if log is not None and (mine := _made(log.usage(record.run), judge, model)):
            return mine
    return mine


def _made(usage: Iterable[ModelUsage], judge: str, model: str | None) -> Sequence[ModelUsage]:
    names = None if model is None else {*names_of(model)}
    return [
        used
        for used in usage
        if used.judge == judge
        and used.made_calls
        and (names is None or not names.isdisjoint(names_of(used.model or "")))
    ]
