"""What every page is: it loads nothing, runs nothing but its own script, and hostile texts in it stay texts."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape

__all__ = ["assert_inert"]


def assert_inert(page: str) -> None:
    """Fail unless a page of hostile texts has a policy that allows its own style and script alone, and obeys it."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert unescape(policy[1]).startswith("default-src 'none'; style-src 'sha256-")
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'; " in unescape(policy[1])
    assert page.count("<script") == 1
    page = page.replace(script, "")
    assert "<img" not in page
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    assert " style=" not in page.replace(";style=", "")
