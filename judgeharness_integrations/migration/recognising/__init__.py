"""What makes or asks a judge, framework by framework."""

from __future__ import annotations

from judgeharness_integrations.migration.recognising.handwritten import handwritten_sites
from judgeharness_integrations.migration.recognising.made import made_sites

__all__ = ["handwritten_sites", "made_sites"]
