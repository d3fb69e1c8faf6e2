"""Injection: texts in an answer that give the judge orders, or pretend to be its own answer."""

from __future__ import annotations

from judgeharness_integrations.probes.injection.encoded import ENCODED
from judgeharness_integrations.probes.injection.forged import DELIMITER, OWN_FORMAT
from judgeharness_integrations.probes.injection.languages import NON_ENGLISH
from judgeharness_integrations.probes.injection.orders import DIRECT_ORDER, ROLE_PLAY, SYSTEM_MESSAGE

__all__ = ["INJECTIONS"]

INJECTIONS = {
    "direct_order": DIRECT_ORDER,
    "system_message": SYSTEM_MESSAGE,
    "own_format": OWN_FORMAT,
    "delimiter": DELIMITER,
    "role_play": ROLE_PLAY,
    "encoded": ENCODED,
    "non_english": NON_ENGLISH,
}
