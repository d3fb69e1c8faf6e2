"""The labelled items behind a calibration: what was decided about each of them, so that it can be compared later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.aggregation.decision import Status
from judgeharness_integrations.verdictlog.row import Verdict, verdict_to_json

__all__ = ["LabelledItem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """One case and criterion: the gold label as people gave it, and what the rule decided.

    `gold` is None only where answers come without labels, as in a log to be compared with an earlier calibration.
    """

    case_id: str
    criterion: str
    gold: Verdict | None
    verdict: Verdict | None
    status: Status

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON keeps it: a set of labels is a sorted list."""
        return {
            "case_id": self.case_id,
            "criterion": self.criterion,
            "gold": verdict_to_json(self.gold),
            "verdict": verdict_to_json(self.verdict),
            "status": self.status,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LabelledItem:
        """Rebuild an item from `to_dict`."""
        gold, verdict = (_verdict(data[name]) for name in ("gold", "verdict"))
        return cls(
            case_id=data["case_id"], criterion=data["criterion"], gold=gold, verdict=verdict, status=data["status"]
        )


def _verdict(value: Any) -> Verdict | None:
    verdict: Verdict | None = frozenset(value) if isinstance(value, list) else value
    return verdict
