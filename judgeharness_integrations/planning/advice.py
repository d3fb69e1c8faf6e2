"""What follows from facts: whether a harness is the right tool, and what to do first. No fact, no advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.grid import Design

__all__ = ["Advice", "Facts", "LabelSource", "advise"]

LabelSource = Literal["none", "executable", "human"]

_SAMPLES: Final = 2
_FEWEST: Final = 2


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known; None is not known.

    `labels_needed` is how many labels the wanted width takes. `components` are those of a pilot or declared ones.
    `budget` is in calls; each of `systems` is asked about each case. `designs` reach the goal, and `buys` says whether
    more samples a case can buy it at all.
    """

    labels: LabelSource | None = None
    labels_needed: int | None = None
    cases: int | None = None
    budget: int | None = None
    temperature: float | None = None
    repetitions: int | None = None
    components: Components | None = None
    fewest_cases: int | None = None
    systems: int = 1
    designs: Sequence[Design] = ()
    buys: bool = True


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One sentence of advice, and the fact it follows from."""

    advice: str
    fact: str

    def __str__(self) -> str:
        """Return both as one sentence."""
        return f"{self.fact}: {self.advice}"


def advise(facts: Facts) -> tuple[Advice, ...]:
    """Return what follows from the facts, what decides about the tool first."""
    return (*_tool(facts), *_design(facts))


def _tool(facts: Facts) -> Iterator[Advice]:
    if facts.labels == "executable":
        yield Advice(
            fact="the labels come from an executable check",
            advice="run the check on every case; a harness around a judge is the wrong tool for it.",
        )
    if facts.labels == "none":
        needed = "some" if facts.labels_needed is None else f"{facts.labels_needed}"
        yield Advice(
            fact="there are no labels",
            advice=f"a harness can only say how consistent the judge is, not how right; label {needed} items first.",
        )
    yield from _budget(facts)


def _budget(facts: Facts) -> Iterator[Advice]:
    if facts.budget is None:
        return
    twice = _SAMPLES * facts.systems  # calls of a case whose every answer has a second one
    calls = "1 call" if facts.budget == 1 else f"{facts.budget} calls"
    of_systems = "" if facts.systems == 1 else f" of {facts.systems} systems"
    if facts.budget < _FEWEST * twice:
        yield Advice(
            fact=f"{calls}{of_systems} {'is' if facts.budget == 1 else 'are'} too few for any interval",
            advice=f"two cases with two samples each take {_FEWEST * twice}; allow that many or more.",
        )
    elif facts.cases is not None and facts.budget < twice * facts.cases:
        one = "take one sample a case and call it informal, without a harness, or "
        yield Advice(
            fact=f"{calls} for {facts.cases} cases{of_systems} are fewer than two samples a case",
            advice=f"{one if facts.budget >= facts.systems * facts.cases else ''}judge fewer cases: "
            f"{facts.budget // twice} with two samples each.",
        )


def _design(facts: Facts) -> Iterator[Advice]:
    if facts.temperature == 0:
        yield Advice(
            fact="the judge's temperature is 0",
            advice="repetitions measure nothing; use one repetition under several perturbations.",
        )
    yield from _samples(facts)
    if facts.fewest_cases is not None and facts.cases is not None and facts.fewest_cases > facts.cases:
        yield Advice(
            fact=f"the goal takes {facts.fewest_cases} cases under any design tried, and there are {facts.cases}",
            advice="find more cases: no number of repetitions or perturbations reaches it.",
        )


def _samples(facts: Facts) -> Iterator[Advice]:
    """Say what repetitions buy of the goal: the calls of the design that is marked, and of one with more samples."""
    best = next((one for one in facts.designs if one.cheapest), None)
    others = [one for one in facts.designs if best and one.perturbations == best.perturbations and one.cases]
    if best is None or best.cases is None or not others:
        return
    one, most = (pick(others, key=lambda design: design.repetitions) for pick in (min, max))
    if one.repetitions == most.repetitions or one.cases is None:
        return
    calls = f"{one.perturbations} x {one.repetitions} takes {one.cases} cases and {one.calls} calls"
    more = f"{most.perturbations} x {most.repetitions} {most.cases} cases and {most.calls} calls"
    if best.repetitions > one.repetitions:
        yield Advice(
            fact=f"{calls}, {best.perturbations} x {best.repetitions} {best.cases} cases and {best.calls} calls",
            advice="with so few cases at hand, repetitions are what buys the goal.",
        )
    elif facts.buys:
        saves = (most.cases or 0) < one.cases
        bought = "cases, not calls: take one where cases can be had" if saves else "neither cases nor calls: take one"
        yield Advice(
            fact=f"{calls}, {more}",
            advice=f"repetitions save {bought}; a second one shows the judge's noise (consistency, flip rates, the "
            "noise test of compare).",
        )
    else:
        yield Advice(
            fact=f"{calls}, {more}",
            advice="the interval is that of decisions, which are 0 or 1 however many samples are behind them: take "
            "one; a second one shows the judge's noise (consistency, flip rates).",
        )
