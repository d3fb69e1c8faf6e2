"""Certificates: from which score on decisions agree with people as often as asked for, or why nobody can promise it."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.certifying.certificate import Certificate, Refusal, Selection
    from judgeharness_integrations.certifying.measuring import Wanted, certify
    from judgeharness_integrations.certifying.pricing import CertificatePrice, certificate_prices
    from judgeharness_integrations.certifying.sequence import fewest_accepted
    from judgeharness_integrations.certifying.step import Step

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
    "CertificatePrice": "pricing",
    "Refusal": "certificate",
    "Selection": "certificate",
    "Step": "step",
    "Wanted": "measuring",
    "certificate_prices": "pricing",
    "certify": "measuring",
    "fewest_accepted": "sequence",
}


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
