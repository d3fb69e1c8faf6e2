"""One look for each judge: colour by provider, filled where open, hollow where proprietary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from judgeharness_integrations.ranking.plots.names import short_names
from judgeharness_integrations.reporting.figures import COLOURS, GREY, INK

if TYPE_CHECKING:
    from matplotlib.artist import Artist

__all__ = ["PLAIN", "Known", "Looks", "looks_of"]

PLAIN: Final = COLOURS[0]
_HOLLOW = "white"
_UNKNOWN = "#bcbcbc"


class Known(Protocol):
    """What is known of a judge (`JudgeFacts`, `JudgeMeasures`)."""

    @property
    def provider(self) -> str | None:
        """Who offers it."""

    @property
    def open(self) -> bool | None:
        """Whether its weights are open."""


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Colours and openness of judges.

    `colours`: judge -> colour; `providers`: name -> colour, in order of the legend; `is_open`: judge -> whether it is.
    """

    colours: Mapping[str, str] = field(default_factory=dict)
    providers: Mapping[str, str] = field(default_factory=dict)
    is_open: Mapping[str, bool | None] = field(default_factory=dict)

    def colour(self, judge: str) -> str:
        """Return a judge's colour."""
        return self.colours.get(judge, PLAIN)

    def marker(self, judge: str) -> dict[str, Any]:
        """Return how a judge's point looks, as matplotlib takes it."""
        colour = self.colour(judge)
        face = _HOLLOW if self.is_open.get(judge) is False else colour
        return {"marker": "o", "markeredgecolor": colour, "markerfacecolor": face, "markeredgewidth": 1.4}

    def handles(self) -> list[Artist]:
        """Return what a legend has to explain; nothing where nothing is known of the judges."""
        from matplotlib.lines import Line2D  # noqa: PLC0415 - few draw

        points: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 6, "markeredgewidth": 1.4}
        shown = short_names(self.providers)
        found: list[Artist] = [
            Line2D([], [], color=colour, label=shown[name], **points) for name, colour in self.providers.items()
        ]
        for kind, is_open, face in (("open weights", True, INK), ("proprietary", False, _HOLLOW)):
            if False in self.is_open.values() and is_open in self.is_open.values():
                found.append(Line2D([], [], color=INK, markerfacecolor=face, label=kind, **points))
        return found


def looks_of(known: Mapping[str, Known]) -> Looks:
    """Return the looks of judges; the providers with most judges have colours of their own, the others share grey."""
    count = Counter(one.provider for one in known.values() if one.provider is not None)
    names = [name for name, _ in sorted(count.items(), key=lambda item: (-item[1], item[0]))]
    own = names if len(names) <= len(COLOURS) else names[: len(COLOURS) - 1]
    colours: dict[str, str] = dict(zip(own, COLOURS, strict=False))
    legend: dict[str, str] = dict(colours)
    if len(own) < len(names):
        legend[f"{len(names) - len(own)} other providers"] = GREY
    if names and any(one.provider is None for one in known.values()):
        legend["provider not given"] = _UNKNOWN

    def colour(provider: str | None) -> str:
        if not names:
            return PLAIN
        return _UNKNOWN if provider is None else colours.get(provider, GREY)

    return Looks(
        colours={judge: colour(one.provider) for judge, one in known.items()},
        providers=legend,
        is_open={judge: one.open for judge, one in known.items()},
    )
