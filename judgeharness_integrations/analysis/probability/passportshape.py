"""What a saved passport holds, but for the insides of its questions and of the canary."""

from __future__ import annotations

from typing import Any

from judgeharness_integrations.verdictlog.shapes import Count, Shape, Short, Text


class PassportShape(Shape):
    """A passport as `Passport.to_dict` writes it."""

    name: Text
    judge: Text
    source: Text
    consensus: Text
    excluded_ties: Count
    measured_at: Short
    parts: dict[str, Any] | None
    design: dict[str, Any] | None
    questions: list[dict[str, Any]]
    canary: dict[str, Any] | None
