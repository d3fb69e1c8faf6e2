"""How far judges and people agree: may a judge replace annotators, and how much of agreement is chance."""

from judgeharness_integrations.agreement.annotations import Columns
from judgeharness_integrations.agreement.panel import Panel
from judgeharness_integrations.agreement.reading import read_panel

__all__ = ["Columns", "Panel", "read_panel"]
