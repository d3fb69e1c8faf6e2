"""The versions of Google ADK the adapter was tried with; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from judgeharness_integrations.versions import VersionRange

__all__ = ["TESTED"]

TESTED: Mapping[str, VersionRange] = MappingProxyType({"google-adk": VersionRange(lowest="2.8", newest="2.13")})
