"""Tests that need a framework: skipped without it, and it is not imported before they run."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

__all__ = ["needs"]


def needs(*modules: str) -> pytest.MarkDecorator:
    """Return the mark of tests that need every one of these top-level modules."""
    missing = [module for module in modules if find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed")
