"""How far judges and people agree: may a judge replace annotators, and how much of agreement is chance."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest import alt_test
    from judgeharness_integrations.agreement.annotations import Columns
    from judgeharness_integrations.agreement.panel import Panel
    from judgeharness_integrations.agreement.reading import read_panel
    from judgeharness_integrations.agreement.tabulating import agreement_table

__all__ = ["Columns", "Panel", "agreement_table", "alt_test", "read_panel"]

# Loaded at first use: who reads labels should not pay for tests of them.
__getattr__ = lazy(
    __name__,
    {
        "Columns": "annotations",
        "Panel": "panel",
        "agreement_table": "tabulating",
        "alt_test": "alttest",
        "read_panel": "reading",
    },
)
