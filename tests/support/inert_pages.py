"""What every page without a script is: it loads nothing, runs nothing, and hostile texts in it stay texts."""

from __future__ import annotations

import re
from html import unescape

__all__ = ["assert_inert"]


def assert_inert(page: str) -> None:
    """Fail unless a page of hostile texts has a policy that allows its own style and nothing else, and obeys it."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert unescape(policy[1]).startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy[1]
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    assert " style=" not in page.replace(";style=", "")
