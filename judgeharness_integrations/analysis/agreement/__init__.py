"""How far judges and people agree: may a judge replace annotators, and how much of agreement is chance."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .alttest import alt_test
    from .kappatable import agreement_table
    from .panel import Columns, Panel
    from .panelfiles import read_panel

__all__ = ["Columns", "Panel", "agreement_table", "alt_test", "read_panel"]

# Loaded at first use: who reads labels should not pay for tests of them.
__getattr__ = lazy(
    __name__,
    {
        "Columns": "panel",
        "Panel": "panel",
        "agreement_table": "kappatable",
        "alt_test": "alttest",
        "read_panel": "panelfiles",
    },
)
