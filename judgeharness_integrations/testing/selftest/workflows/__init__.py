"""Whole workflows, and what people are promised who follow them.

To add one, declare a `PromiseCheck` beside a function that simulates studies of it, and name it in `WORKFLOWS`.
"""

from __future__ import annotations

from judgeharness_integrations.testing.selftest.check import Check
from judgeharness_integrations.testing.selftest.workflows.labelling import CHOOSING, LABELLING
from judgeharness_integrations.testing.selftest.workflows.looking import CERTIFYING, DRIFTING, LOOKING
from judgeharness_integrations.testing.selftest.workflows.planning import PLANNING

__all__ = ["WORKFLOWS"]

WORKFLOWS: tuple[Check, ...] = (*PLANNING, *LABELLING, *CHOOSING, *DRIFTING, *LOOKING, *CERTIFYING)
