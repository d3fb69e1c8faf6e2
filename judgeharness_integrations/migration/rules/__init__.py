"""The scanner's rules, one a file, by code."""

from __future__ import annotations

from judgeharness_integrations.migration.rules.registry import RULES, codes_matching, rule_of

__all__ = ["RULES", "codes_matching", "rule_of"]
