"""A cache may never answer two repetitions with one reply: every (perturbation, repetition) gets its own entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseLanguageModel

from judgeharness_integrations.judging import Probe
from judgeharness_integrations.modelparameters import single_choice
from judgeharness_langchain.models import innermost, with_innermost

__all__ = ["NamespacedCache", "active_cache", "isolated", "namespace_of"]


class NamespacedCache(BaseCache):
    """The user's cache, with entries of our own in it."""

    def __init__(self, inner: BaseCache, namespace: str) -> None:
        """Keep entries of this namespace apart."""
        self._inner = inner
        self._suffix = f"\njudgeharness:{namespace}"

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Look up in the namespace."""
        return self._inner.lookup(prompt, llm_string + self._suffix)

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store in the namespace."""
        self._inner.update(prompt, llm_string + self._suffix, return_val)

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Look up in the namespace."""
        return await self._inner.alookup(prompt, llm_string + self._suffix)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Any]) -> None:
        """Store in the namespace."""
        await self._inner.aupdate(prompt, llm_string + self._suffix, return_val)

    def clear(self, **kwargs: Any) -> None:
        """Clear the whole cache below."""
        self._inner.clear(**kwargs)


def namespace_of(probe: Probe) -> str:
    """Return the name of a sample's own cache entries."""
    return f"{probe.perturbation.name}#{probe.repetition}"


def active_cache(model: object) -> BaseCache | None:
    """Return the cache that would answer for a model; None when none does."""
    own = getattr(innermost(model), "cache", None)
    if isinstance(own, BaseCache):
        return own
    return None if own is False else get_llm_cache()


def isolated(model: Any, namespace: str) -> Any | None:
    """Return a copy of the model whose cache entries stand apart and that gives one choice; None when out of reach.

    A namespace that is already set (a judge inside a judge) is kept: its entries are nested.
    """
    cache, core = active_cache(model), single_choice(innermost(model))
    if cache is None:
        return model if core is innermost(model) else with_innermost(model, core)
    if not isinstance(core, BaseLanguageModel):
        return None
    return with_innermost(model, core.model_copy(update={"cache": NamespacedCache(cache, namespace)}))
