"""Models whose cache entries stand apart, one namespace a sample."""

from __future__ import annotations

from langchain_core.caches import BaseCache
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel

from judgeharness_integrations.namespacedcache import NamespacedCache

__all__ = ["active_cache", "isolated"]


BaseCache.register(NamespacedCache)


def active_cache(model: BaseChatModel | None) -> BaseCache | None:
    """Return the cache that would answer for a model, one that is not known included; None when none does."""
    own = None if model is None else model.cache
    if isinstance(own, BaseCache):
        return own
    return None if own is False else get_llm_cache()


def isolated(model: BaseChatModel, cache: BaseCache, namespace: str) -> BaseChatModel:
    """Return a copy of the model whose entries in the cache stand apart."""
    return model.model_copy(update={"cache": NamespacedCache(cache, namespace)})
