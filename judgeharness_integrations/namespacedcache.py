"""A cache may never answer two repetitions with one reply: every (perturbation, repetition) gets its own entries."""

from __future__ import annotations

from typing import Any

from judgeharness_integrations.judging import Probe

__all__ = ["NamespacedCache", "namespace_of"]


def namespace_of(probe: Probe) -> str:
    """Return the name of a sample's own cache entries."""
    return f"{probe.perturbation.name}#{probe.repetition}"


class NamespacedCache:
    """The user's cache of model answers, with entries of our own in it.

    It has the methods of LangChain's `BaseCache`; adapters register it there as a virtual subclass.
    """

    def __init__(self, inner: Any, namespace: str) -> None:
        """Keep entries of this namespace apart."""
        self._inner = inner
        self._suffix = f"\njudgeharness:{namespace}"

    def lookup(self, prompt: str, llm_string: str) -> Any:
        """Look up in the namespace."""
        return self._inner.lookup(prompt, llm_string + self._suffix)

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        """Store in the namespace."""
        self._inner.update(prompt, llm_string + self._suffix, return_val)

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        """Look up in the namespace."""
        return await self._inner.alookup(prompt, llm_string + self._suffix)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Any) -> None:
        """Store in the namespace."""
        await self._inner.aupdate(prompt, llm_string + self._suffix, return_val)

    def clear(self, **kwargs: Any) -> None:
        """Clear the whole cache below."""
        self._inner.clear(**kwargs)

    async def aclear(self, **kwargs: Any) -> None:
        """Clear the whole cache below."""
        await self._inner.aclear(**kwargs)
