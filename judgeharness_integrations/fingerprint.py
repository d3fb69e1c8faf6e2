"""What produced a verdict, as a digest: a calibration holds only where the digests are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Fingerprint"]


@dataclass(frozen=True)
class Fingerprint:
    """The parts of a configuration that decide what a verdict means.

    `parts` maps what people call a part (`model`, `prompt`, `perturbations`, `rule`, ...) to a JSON value.
    """

    parts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A short SHA-256 over the canonical JSON of the parts."""
        canonical = json.dumps(self.parts, sort_keys=True, default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def changes(self, other: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the parts whose values differ from those of `other`."""
        mine, theirs = _canonical(self.parts), _canonical(other)
        missing = object()
        return tuple(name for name in sorted({*mine, *theirs}) if mine.get(name, missing) != theirs.get(name, missing))


def _canonical(parts: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(parts, sort_keys=True, default=str)))
