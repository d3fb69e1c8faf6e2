"""Judges that decide together, for people: the steps of a cascade, the members of a panel, and what each costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.reporting.findings import Finding
from judgeharness_integrations.reporting.measured import Measured, measured_table, named_after
from judgeharness_integrations.reporting.sections import Block, Section, Table
from judgeharness_integrations.reporting.text import cost_text
from judgeharness_integrations.verdictlog.encoding import counted, safe_text, share

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.certifying.cascade import Cascade


def together_sections(document: Mapping[str, Any]) -> Iterator[Section]:
    """Yield what a document says of judges that decide together: its keys `cascade` and `panel`."""
    if document.get("cascade") is not None:
        yield cascade_section(document["cascade"])
    if document.get("panel") is not None:
        yield panel_section(document["panel"])


def cascade_finding(cascade: Cascade, *, before: Sequence[str] = (), following: str = "") -> Finding:
    """Return what a cascade opens with once it was certified: how many of its steps decide, or that it is refused.

    Args:
        cascade: the cascade.
        before: what is to be done before the command that comes next.
        following: that command; empty where none is known.

    """
    names = safe_text(", then ".join(step.judge for step in cascade.steps))
    granted, steps = sum(step.granted for step in cascade.steps), counted(len(cascade.steps), "step")
    answer = f"{names}: refused, as no step is certified and every case would wait for people"
    if granted:
        answer = (
            f"{names}: {granted} of {steps} are certified: decided cases {_promise(cascade.agreement, cascade.delta)}"
        )
    return Finding(answer=answer, reasons=tuple(before), next=following)


def _promise(agreement: float, delta: float) -> str:
    return (
        f"agree with their labels at least {100 * agreement:g} % of the time, with {100 * (1 - delta):g} % confidence"
    )


def cascade_section(record: Mapping[str, Any]) -> Section:
    """Return what a cascade made of its cases, from what documents keep of it: each share with its denominator."""
    return Section(title=f"cascade: {record['criterion']}", blocks=tuple(_cascade(record)))


def _cascade(record: Mapping[str, Any]) -> Iterator[Block]:
    columns = ("judge", "cases that\ncame", "decided,\n% of them", "calls", "cost")
    yield Table.of("steps, in the order they are asked", columns, map(_step, record["steps"]))
    decided, cases, left = record["decided"], record["cases"], record["left"]
    # of a run that ended early some of these were never asked about, and wait for judges
    yield f"decided: {share(decided, cases)}; no judge decides {counted(left, 'case')}"
    yield f"certified: decided cases {_promise(record['promised'], record['delta'])}, all steps together"
    rate = record["agreement"]
    told = "no decided case has a label" if rate is None else _rate(rate)
    yield f"decided cases that agree with their labels: {told}"
    if not decided:
        yield "price of a decision: none was made"
        return
    price = f"{record['calls_per_decision']:.2f} calls ({record['calls']} calls / {counted(decided, 'decision')})"
    cost = cost_text(record["cost"], record["cost_remarks"]) or "cost not known: no prices were given"
    if record["cost"] is not None:
        price += f", {record['cost_per_decision']:.3g} in money"
    yield f"price of a decision: {price}; {cost}"


def _step(step: Mapping[str, Any]) -> tuple[str, ...]:
    cost = "-" if step["cost"] is None else f"{step['cost']:.4f}"
    return step["judge"], str(step["reached"]), share(step["decided"], step["reached"]), str(step["calls"]), cost


def _rate(rate: Mapping[str, Any]) -> str:
    right, of = rate["successes"], rate["trials"]
    return f"{right / of:.3f} [{rate['low']:.3f}, {rate['high']:.3f}] ({right}/{of})"


def panel_section(record: Mapping[str, Any]) -> Section:
    """Return what a panel decides, how alike its members err, and what each of them cost."""
    return Section(title=f"panel of {', '.join(record['members'])}", blocks=tuple(_panel(record)))


def _panel(record: Mapping[str, Any]) -> Iterator[Block]:
    yield f"rule: {record['rule']} over members, each of them by {record['member_rule']}"
    entries = [JudgeReplay.from_dict({**entry["measured"], **entry}) for entry in record["decisions"]]
    yield measured_table(Measured(name=named_after(one.judge, one.criterion), replay=one) for one in entries)
    for one in record["errors"]:
        yield f"{one['criterion']}: {one['sentence']}"
    columns = ("member", "calls", "tokens in", "tokens out", "cost")
    yield Table.of("what members cost", columns, map(_member, record["usage"]))


def _member(used: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = ("-" if used[name] is None else f"{used[name]:,}" for name in ("input_tokens", "output_tokens"))
    return used["judge"], str(used["calls"]), *tokens, "-" if used["cost"] is None else f"{used['cost']:.4f}"
