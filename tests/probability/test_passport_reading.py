"""A passport read again, and one whose question was asked in one form alone."""

from __future__ import annotations

from pathlib import Path

from support.planted_probabilities_judge import PlantedJudge, planted_cases

from judgeharness_integrations.analysis.probability.passport import Passport
from judgeharness_integrations.judging.passport import PassportOffice
from judgeharness_integrations.reporting.checks import passport_section
from judgeharness_integrations.reporting.sections import section_markdown


def test_one_without_labels_is_read_again(tmp_path: Path) -> None:
    taken = PassportOffice(PlantedJudge(), planted_cases(20, labelled=0)).take()
    assert Passport.load(taken.save(tmp_path / "passport.json")) == taken


def test_a_question_in_one_form_has_no_table_of_forms() -> None:
    taken = PassportOffice(PlantedJudge(), planted_cases(20, labelled=0), forms=()).take()
    text = section_markdown(passport_section(taken))
    assert "asked the very same again" in text
    assert "in other forms" not in text
