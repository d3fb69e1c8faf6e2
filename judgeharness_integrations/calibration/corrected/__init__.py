"""Judged rates corrected with labels: Rogan-Gladen, PPI++, double sampling, and which of them is to be believed."""

from judgeharness_integrations.calibration.corrected.doublesampling import DoubleSampling, tenenbein
from judgeharness_integrations.calibration.corrected.ppi import PpiPlusPlus, ppi_plus_plus
from judgeharness_integrations.calibration.corrected.rate import corrected_rate, corrected_rate_of_counts
from judgeharness_integrations.calibration.corrected.rateestimate import Method, RateEstimate
from judgeharness_integrations.calibration.corrected.report import CORRECTED_RATE_SCHEMA, CorrectedRate, LabelsAre
from judgeharness_integrations.calibration.corrected.rogangladen import RoganGladen, rogan_gladen
from judgeharness_integrations.calibration.corrected.sample import Sample

__all__ = [
    "CORRECTED_RATE_SCHEMA",
    "CorrectedRate",
    "DoubleSampling",
    "LabelsAre",
    "Method",
    "PpiPlusPlus",
    "RateEstimate",
    "RoganGladen",
    "Sample",
    "corrected_rate",
    "corrected_rate_of_counts",
    "ppi_plus_plus",
    "rogan_gladen",
    "tenenbein",
]
