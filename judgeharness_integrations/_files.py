"""Files that hold what judges were asked and what they answered: nobody else's to read."""

from __future__ import annotations

import os

__all__ = ["owner_only"]


def owner_only(path: str, flags: int) -> int:
    """Open a file for `open(..., opener=owner_only)`.

    One that is made by it is its owner's alone (0600) from the first moment; one that is there keeps its mode.
    """
    return os.open(path, flags, 0o600)
