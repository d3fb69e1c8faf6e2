"""A scan as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from judgeharness_integrations import __version__
from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.rules import RULES

__all__ = ["sarif"]


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return findings as one run; every rule is described, found or not."""
    places = {code: place for place, code in enumerate(RULES)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "judgeharness",
                        "version": __version__,
                        "rules": [
                            {
                                "id": rule.code,
                                "name": "".join(word.capitalize() for word in rule.name.replace("-", " ").split()),
                                "shortDescription": {"text": rule.name},
                                "fullDescription": {"text": rule.explanation},
                                "defaultConfiguration": {"level": "warning"},
                            }
                            for rule in RULES.values()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, places[finding.code]) for finding in findings],
            }
        ],
    }


def _result(finding: Finding, place: int) -> dict[str, Any]:
    path = finding.path
    uri = path.absolute().as_uri() if path.is_absolute() else quote(path.as_posix())
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": place,
        "level": "warning",
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }
