"""The probes that come with the product, by the names reports and configurations have for them."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.probes.base import AdversarialProbe
from judgeharness_integrations.probes.injection import INJECTIONS
from judgeharness_integrations.probes.padding import Padding
from judgeharness_integrations.probes.persuasion import AUTHORITY, CONFIDENT_TONE, MODEL_NAME, SELF_PRAISE
from judgeharness_integrations.probes.sentinels import copied, emptied, off_topic
from judgeharness_integrations.probes.traces import CHAIN_OF_THOUGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from judgeharness_integrations.probes.base import Target

__all__ = ["probe", "probes"]

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
