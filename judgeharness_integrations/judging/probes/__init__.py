"""Adversarial probes: attacks that must not win, and sentinels whose verdict is known beforehand."""

from __future__ import annotations

from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES

from .base import AdversarialProbe, Expectation, Target
from .catalogue import Payload, corpus, probe, probes

__all__ = ["PROBE_PROPERTIES", "AdversarialProbe", "Expectation", "Payload", "Target", "corpus", "probe", "probes"]
