"""Models whose cache entries stand apart, one namespace a sample."""

from __future__ import annotations

from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseLanguageModel

from judgeharness_integrations.chatmodels import single_choice
from judgeharness_integrations.namespacedcache import NamespacedCache
from judgeharness_langchain.models import innermost, with_innermost

__all__ = ["active_cache", "isolated"]


BaseCache.register(NamespacedCache)


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
