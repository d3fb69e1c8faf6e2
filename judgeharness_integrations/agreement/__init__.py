"""How far judges and people agree: may a judge replace annotators, and how much of agreement is chance."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.testing import alt_test
    from judgeharness_integrations.agreement.kappa.tabulating import agreement_table
    from judgeharness_integrations.agreement.panels.columns import Columns
    from judgeharness_integrations.agreement.panels.panel import Panel
    from judgeharness_integrations.agreement.panels.reading import read_panel

__all__ = ["Columns", "Panel", "agreement_table", "alt_test", "read_panel"]

# Loaded at first use: who reads labels should not pay for tests of them.
__getattr__ = lazy(
    __name__,
    {
        "Columns": "panels.columns",
        "Panel": "panels.panel",
        "agreement_table": "kappa.tabulating",
        "alt_test": "alttest.testing",
        "read_panel": "panels.reading",
    },
)
