"""The versions of LangChain the adapter was tried with; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from judgeharness_integrations.judging.adapters import VersionRange

TESTED: Mapping[str, VersionRange] = MappingProxyType(
    {
        "langchain-core": VersionRange(lowest="1.0", newest="1.8"),
        "langchain-classic": VersionRange(lowest="1.0", newest="1.0"),
        "langchain-openai": VersionRange(lowest="1.0", newest="1.7"),
    }
)
