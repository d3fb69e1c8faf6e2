"""Labelling: people answer what judges are asked, blind to judges and authors, into a verdict log of their own."""

from .labellog import LabelAgreement, LabelLog, calibration_set_from_logs, label_agreement
from .questions import Question, parse_answers, questions
from .sheets import Progress, Session

__all__ = [
    "LabelAgreement",
    "LabelLog",
    "Progress",
    "Question",
    "Session",
    "calibration_set_from_logs",
    "label_agreement",
    "parse_answers",
    "questions",
]
