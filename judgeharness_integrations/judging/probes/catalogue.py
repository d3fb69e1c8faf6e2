"""The probes that come with the product, by the names reports and configurations have for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.judging.probes.base import AdversarialProbe, alone
from judgeharness_integrations.judging.probes.injection import INJECTIONS
from judgeharness_integrations.judging.probes.payloads import (
    AUTHORITY,
    CHAIN_OF_THOUGHT,
    CONFIDENT_TONE,
    MODEL_NAME,
    SELF_PRAISE,
    Padding,
    copied,
    emptied,
    off_topic,
)
from judgeharness_integrations.verdictlog.row import PROBE, probe_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from judgeharness_integrations.judging.perturbations.base import Perturbation
    from judgeharness_integrations.judging.probes.base import Target

_CUES: Mapping[str, Callable[[str, Target], str]] = {
    "authority": AUTHORITY,
    "verbosity": Padding(),
    "self_praise": SELF_PRAISE,
    "confident_tone": CONFIDENT_TONE,
    "chain_of_thought": CHAIN_OF_THOUGHT,
    "model_name": MODEL_NAME,
}
_ALL = (
    *(AdversarialProbe(family="injection", variant=variant, change=change) for variant, change in INJECTIONS.items()),
    *(AdversarialProbe(family=family, change=change) for family, change in _CUES.items()),
    AdversarialProbe(family="sentinel", variant="empty", change=emptied, expectation="must_lose", replaces=True),
    AdversarialProbe(family="sentinel", variant="off_topic", change=off_topic, expectation="must_lose", replaces=True),
    AdversarialProbe(family="sentinel", variant="copy", change=copied, expectation="must_tie", needs_two=True),
)
_BY_PROPERTY: Mapping[str, AdversarialProbe] = MappingProxyType({one.property: one for one in _ALL})


def probe(name: str) -> AdversarialProbe:
    """Return a probe by its property, `injection.direct_order` or `verbosity`.

    Raises:
        UnknownNameError: there is no probe of that name.

    """
    if name not in _BY_PROPERTY:
        raise UnknownNameError("probe", name, _BY_PROPERTY)
    return _BY_PROPERTY[name]


def probes(specs: Iterable[str | AdversarialProbe] | None = None) -> tuple[AdversarialProbe, ...]:
    """Return the probes that some names stand for, each once and in the order given.

    Args:
        specs: properties (`injection.encoded`), families, which stand for all of their variants (`injection`,
            `sentinel`), and probes of your own; None for all that there are, in the order of reports.

    Raises:
        UnknownNameError: there is no probe and no family of that name.
        PlanError: a single text instead of a list of them.

    """
    if specs is None:
        return _ALL
    if isinstance(specs, str):
        raise PlanError(f"probes is a list: write [{specs!r}], even for a single one.")
    return tuple(dict.fromkeys(one for spec in specs for one in _named(spec)))


def _named(spec: str | AdversarialProbe) -> tuple[AdversarialProbe, ...]:
    if isinstance(spec, AdversarialProbe):
        return (spec,)
    family = tuple(one for one in _ALL if one.family == spec)
    if family:
        return family
    if spec not in _BY_PROPERTY:
        raise UnknownNameError("probe", str(spec), {*_BY_PROPERTY, *(one.family for one in _ALL)})
    return (_BY_PROPERTY[spec],)


# for a single answer also what forges the best verdict of judges that grade, and of usual scales
_TARGETS = (("A", None), ("B", None), *((None, best) for best in (None, "PASS", "10", "5", "1")))


@runtime_checkable
class _Payloads(Protocol):
    def texts(self, slot: str | None, best: str | None = None) -> tuple[str, ...]: ...


@dataclass(frozen=True, kw_only=True)
class Payload:
    """One payload of an attack: which `property` it belongs to, for which `slot`, and its `text` without an answer.

    `slot` is the letter it wants to win, `A` or `B`; None for payloads about a single answer, which forge the best of
    some usual verdicts: `PASS`, 10, 5, 1.
    """

    property: str
    slot: str | None
    text: str


@lru_cache(maxsize=1)
def corpus() -> tuple[Payload, ...]:
    """Return every wording of every attack, for an answer shown as A, as B, and alone; always in the same order."""
    every = (
        Payload(property=one.property, slot=slot, text=alone(text))
        for one in probes()
        for slot, best in _TARGETS
        for text in _texts(one.change, slot, best)
    )
    return tuple(dict.fromkeys(every))


def _texts(change: object, slot: str | None, best: str | None) -> tuple[str, ...]:
    return change.texts(slot, best) if isinstance(change, _Payloads) else ()


_SWAP = "position_swap"


def named_probe(part: str, spec: str) -> Perturbation:
    """Return the probe that one part of a perturbation's name stands for.

    Args:
        part: `probe:authority(b)`.
        spec: the whole name.

    Raises:
        UnknownNameError: there is no such probe.
        PlanError: the side is malformed, or the probe stands beside what would make its payload speak of another
            answer: a second probe, a swap before it, other names of the answers.

    """
    chosen = probe(part.partition("(")[0].strip().removeprefix(PROBE))
    found = probe_name(part)
    if found is None:
        raise PlanError(f"{part!r} is malformed: write {PROBE}{chosen.property}, of two answers {chosen.on('b').name}.")
    parts = [other.strip() for other in spec.split("+")]
    if sum(other.startswith(PROBE) for other in parts) > 1:
        raise PlanError(f"{spec!r} holds two probes: ask them apart, or nobody can say which one had an effect.")
    if _SWAP in parts[: parts.index(part)]:
        raise PlanError(f"{spec!r} swaps before it attacks: write '{part}+{_SWAP}', the side is that of the case.")
    if any(other.startswith("slot_names") for other in parts):
        raise PlanError(f"{spec!r} renames the answers that its payload calls A and B: leave slot_names out.")
    return chosen.on(found.side)
