"""The versions of LangSmith's client the adapter was tried with; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from judgeharness_integrations.judging.adapters import VersionRange

TESTED: Mapping[str, VersionRange] = MappingProxyType({"langsmith": VersionRange(lowest="0.8", newest="0.15")})
