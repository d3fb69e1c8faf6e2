"""An LLM cache may never answer two repetitions with one reply: every sample gets entries of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel

__all__ = ["NamespacedCache", "active_cache", "isolated"]


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


def active_cache(model: BaseChatModel | None) -> BaseCache | None:
    """Return the cache that would answer for a model, one that is not known included; None when none does."""
    own = None if model is None else model.cache
    if isinstance(own, BaseCache):
        return own
    return None if own is False else get_llm_cache()


def isolated(model: BaseChatModel, cache: BaseCache, namespace: str) -> BaseChatModel:
    """Return a copy of the model whose entries in the cache stand apart."""
    return model.model_copy(update={"cache": NamespacedCache(cache, namespace)})
