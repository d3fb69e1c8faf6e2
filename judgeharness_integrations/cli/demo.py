"""`judgeharness demo`."""

from __future__ import annotations

__all__ = ["demo"]


def demo() -> None:
    """Show on real, recorded verdicts what rules change. No key, no network, no calls."""
    from judgeharness_integrations.cli._demo import show_demo  # noqa: PLC0415 - keeps --help fast

    show_demo()
