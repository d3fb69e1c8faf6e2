"""Sentinels: answers whose verdict is known beforehand, put in the place of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeharness_integrations.probes.base import Target

__all__ = ["copied", "emptied", "off_topic"]

# Subject and text, without figures: who reads numbers only must find no answer in them.
_PASSAGES = (
    (
        "lighthouse",
        (
            "The keeper of a lighthouse used to spend the early evening polishing the lens, a ring of glass prisms "
            "taller than a person. Once the lamp was lit, a clockwork turned the lens through the night, and "
            "somebody had to wind it up again before it ran down. On clear nights ships saw the beam long before "
            "they saw the coast."
        ),
    ),
    (
        "moss",
        (
            "Moss has no roots. It drinks through its leaves, dries out in summer until it crumbles between the "
            "fingers, and turns green again within minutes when it rains. Gardeners in Kyoto sweep their moss with "
            "soft brooms and weed it by hand, for fallen leaves would suffocate it in a single season."
        ),
    ),
    (
        "accordion",
        (
            "An accordion is tuned with a file. The tuner lifts the reed, takes a breath of metal off its tip to "
            "raise the note or off its base to lower it, and listens again. Two reeds that are not quite the same "
            "give the sound its tremble, which some players want to be slow and others as fast as a cicada."
        ),
    ),
    (
        "bookbind",
        (
            "A bookbinder folds the sheets, sews them along the fold with linen thread and glues a strip of gauze "
            "over the spine. Only then do the boards come, and the leather, which is pared so thin at the edges "
            "that it can be turned in without a ridge. Bookbinding is mostly waiting, since glue takes its time."
        ),
    ),
    (
        "glacier",
        (
            "A glacier moves like cold honey: faster in the middle than along its sides, faster in summer than in "
            "winter. Stones that fall on it travel for centuries and are set down far below, in long walls of "
            "rubble. In the evening, when the meltwater falls silent, one hears the ice itself, which cracks and "
            "sighs."
        ),
    ),
    (
        "beekeep",
        (
            "In spring a beekeeper looks for a queen that is nearly impossible to find among her daughters. "
            "Beekeepers mark her back with a dot of paint, in a colour that stands for the year. A swarm hanging "
            "in an apple tree is in the best of moods, full of honey and with nothing to defend."
        ),
    ),
)


def emptied(text: str, target: Target) -> str:
    """Return an answer that says nothing."""
    del text, target
    return ""


def off_topic(text: str, target: Target) -> str:
    """Return a fluent text on another subject, one that neither answer mentions where there is such a one."""
    mentioned = f"{text} {target.other or ''}".casefold()
    others = [passage for subject, passage in _PASSAGES if subject not in mentioned]
    return target.random.choice(others or [passage for _, passage in _PASSAGES])


def copied(text: str, target: Target) -> str:
    """Return the text of the other answer."""
    return text if target.other is None else target.other
