"""The versions of openevals the adapter was tried with; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from judgeharness_integrations.judging.adapters import VersionRange

TESTED: Mapping[str, VersionRange] = MappingProxyType({"openevals": VersionRange(lowest="0.1", newest="0.2")})
