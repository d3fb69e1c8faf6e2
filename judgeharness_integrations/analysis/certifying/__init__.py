"""Certificates: from which score on decisions agree with people as often as asked for, or why nobody can promise it."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .certificate import Certificate, Refusal, Selection, Step
    from .measuring import Wanted, certify
    from .sequence import CertificatePrice, certificate_prices, fewest_accepted

__all__ = [
    "Certificate",
    "CertificatePrice",
    "Refusal",
    "Selection",
    "Step",
    "Wanted",
    "certificate_prices",
    "certify",
    "fewest_accepted",
]

_HOMES = {
    "Certificate": "certificate",
    "CertificatePrice": "sequence",
    "Refusal": "certificate",
    "Selection": "certificate",
    "Step": "certificate",
    "Wanted": "measuring",
    "certificate_prices": "sequence",
    "certify": "measuring",
    "fewest_accepted": "sequence",
}


__getattr__ = lazy(__name__, _HOMES)
