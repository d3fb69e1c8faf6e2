"""What generating will take, step by step, before the first call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.text import Text

from judgeharness_integrations.cli._printing import console, safe, table
from judgeharness_integrations.cli.benchmark._models import Spending
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["GeneratePlan", "print_plan"]

_WRITTEN: Final = {"blueprints": 1, "conversation_better": 1, "conversation_worse": 1}
_VERIFIED: Final = {"coherence": 1, "adherence": 1, "claims": 2, "grounding": 2}  # the last two by conversation


@dataclass(frozen=True, kw_only=True)
class GeneratePlan:
    """What is asked of whom.

    `pairs` are planned, `left` of them to be made; `known` answers are kept from before. `characters` of `documents`
    stand in each prompt, on average. `readings`: answers asked for until one can be read. `earliest`: failure type ->
    the first round its flaw can stand in, for types that so have longer conversations than --rounds begins with.
    """

    generator: str
    verifier: str | None
    pairs: int
    left: int
    documents: int
    characters: int
    known: int
    spending: Spending
    readings: int
    earliest: Mapping[str, int] = field(default_factory=dict)

    def steps(self) -> Iterator[tuple[str, str, int]]:
        """Yield step, model and calls of a pair that passes every layer."""
        for step, calls in _WRITTEN.items():
            yield step, self.generator, calls
        for step, calls in _VERIFIED.items():
            if self.verifier is not None:
                yield step, self.verifier, calls

    @property
    def per_pair(self) -> int:
        """Calls of a pair that passes every layer."""
        return sum(calls for _, _, calls in self.steps())

    @property
    def at_most(self) -> int:
        """Calls where no answer can be read at first; attempts that fail are not in it."""
        return self.left * self.per_pair * self.readings


def print_plan(plan: GeneratePlan, *, stderr: bool) -> None:
    """Print it."""
    rows: list[list[str | Text]] = [
        [
            safe(step),
            safe(model),
            str(calls),
            str(calls * plan.left),
            str(calls * plan.left * plan.readings),
        ]
        for step, model, calls in plan.steps()
    ]
    rows.append(["together", "", str(plan.per_pair), str(plan.per_pair * plan.left), str(plan.at_most)])
    screen = console(stderr=stderr)
    screen.print(table("plan", ("step", "model", "calls\na pair", "if every\npair passes", "at most"), rows, texts=2))
    for line in _lines(plan):
        screen.print(line, soft_wrap=True)


def _lines(plan: GeneratePlan) -> Iterator[str]:
    made = "" if plan.left == plan.pairs else f", {plan.pairs - plan.left} of them made before"
    yield (
        f"pairs: {plan.pairs}{made}; each prompt holds about {plan.characters} characters of {plan.documents} "
        f"document{'' if plan.documents == 1 else 's'}"
    )
    yield (
        "a pair that a layer rejects takes fewer calls; an answer that cannot be read is asked for again, up to "
        f"{plan.readings} times in all"
    )
    for rounds in sorted(set(plan.earliest.values())):
        names = ", ".join(safe_text(name, 60) for name, first in plan.earliest.items() if first == rounds)
        yield f"at least {rounds} rounds, whatever --rounds says, have pairs of {names}: no such flaw can stand earlier"
    if plan.known:
        yield f"answers kept from before: {plan.known}; those that still fit are not asked for again"
    limits = [
        f"{limit} {unit}"
        for limit, unit in (
            (plan.spending.max_calls, "calls, retries included"),
            (plan.spending.max_cost, "of money, by the prices of --models"),
        )
        if limit is not None
    ]
    yield f"upper limit: {' and '.join(limits)}" if limits else "no upper limit given; a call that fails is tried again"
