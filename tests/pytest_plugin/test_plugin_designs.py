"""Options, files and markers: which harness measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.planted_probabilities_judge import PlantedJudge, planted_cases

import judgeharness_integrations.testing.pytest_plugin.ending
import judgeharness_integrations.testing.pytest_plugin.suite  # noqa: F401 - loaded once, not by each suite anew
from judgeharness_integrations.judging.passport import PassportOffice

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

ASKED = """
def test_it(judgeharness):
    result = judgeharness(passes, CASE)
    print("asked", result.usage.calls, result.aggregation_rule, *result.perturbations)
"""


def asked(ran: pytest.RunResult) -> list[str]:
    ran.assert_outcomes(passed=1)
    return [line.partition("asked ")[2] for line in ran.outlines if "asked " in line]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("ini", "options", "expected"),
    [
        ("", (), "6 supermajority(2/3) | median none format_change"),
        ('judgeharness_preset = "quick"', (), "2 abstain_on_disagreement | median none format_change"),
        (
            'judgeharness_preset = "quick"\njudgeharness_shape = "labels"',
            (),
            "2 abstain_on_disagreement none format_change",
        ),
        ('judgeharness_preset = "quick"', ("--judgeharness-preset=single",), "1 majority | median none"),
        ('judgeharness_config = "suite.yaml"', (), "4 majority none format_change"),
        (
            'judgeharness_config = "suite.yaml"',
            ("--judgeharness-shape=labels",),
            "6 supermajority(2/3) none format_change",
        ),
        ('judgeharness_config = "run.json"', (), "3 majority none"),
    ],
)
def test_options_choose_the_design(
    ini: str, options: tuple[str, ...], expected: str, run: Run, pytester: pytest.Pytester
) -> None:
    design = {"perturbations": ["none", "format_change"], "repetitions": 2, "aggregation_rule": "majority"}
    (pytester.path / "suite.yaml").write_text(json.dumps({"harness": design}))
    whole = {
        "judges": [{"name": "j", "callable": "m:f"}],
        "harness": design | {"perturbations": ["none"], "repetitions": 3},
    }
    (pytester.path / "run.json").write_text(json.dumps(whole))
    assert asked(run(ASKED, "-s", *options, ini=ini)) == [expected]


@pytest.mark.slow
def test_markers_add_up_and_the_nearest_wins(run: Run) -> None:
    ran = run(
        """
import pytest
pytestmark = pytest.mark.judgeharness(shape="labels", repetitions=2, seed=3)

def ask(judgeharness, case=CASE):
    result = judgeharness(passes, case)
    return result.usage.calls, result.aggregation_rule

def test_module(judgeharness):
    assert ask(judgeharness) == (4, "supermajority(2/3)")

@pytest.mark.judgeharness(aggregation_rule="majority")
class TestClass:
    def test_class(self, judgeharness):
        assert ask(judgeharness) == (4, "majority")
        assert judgeharness.harness.seed == 3

    @pytest.mark.judgeharness(repetitions=5, perturbations=("none",))
    def test_nearest(self, judgeharness):
        assert ask(judgeharness) == (5, "majority")

    @pytest.mark.judgeharness(preset="quick")
    def test_a_preset_replaces_what_stands_farther_away(self, judgeharness):
        assert ask(judgeharness) == (2, "abstain_on_disagreement")

@pytest.mark.judgeharness(shape="pairwise")
def test_pairs(judgeharness):
    assert ask(judgeharness, PAIR) == (6, "swap_consensus")
"""
    )
    ran.assert_outcomes(passed=5)


def test_a_judge_tells_what_it_answers(run: Run) -> None:
    ran = run(
        """
from judgeharness_integrations import Criterion
from judgeharness_integrations.testing import ScriptedJudge

def test_labels(judgeharness):
    judge = ScriptedJudge(["GOOD"], criteria=[Criterion(name="tone", labels=("GOOD", "BAD"))])
    assert judgeharness.check(judge, CASE, "GOOD").aggregation_rule == "supermajority(2/3)"

def test_discrete_scores(judgeharness):
    judge = ScriptedJudge([1, 1, 2, 2, 2, 5], criteria=[Criterion(name="tone", scale=(1, 5))])
    judge.discrete = True
    assert judgeharness(judge, CASE).verdict == 2
    assert judgeharness.harness_for(judge, CASE).design.rule.name == "mode"

def test_plain_text_has_no_format_to_change(judgeharness):
    result = judgeharness.check(passes, AnswerCase(case_id="plain", output="Yes"))
    assert result.usage.calls in (3, 6)
"""
    )
    ran.assert_outcomes(passed=3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("repetition=3", "@pytest.mark.judgeharness*unknown key 'repetition': did you mean 'repetitions'?"),
        ("repetitions='3'", "*test_it: @pytest.mark.judgeharness: repetitions must be a whole number, not '3'."),
        ("repetitions=0", "*repetitions must be a whole number of at least 1, not 0."),
        ("preset='quik'", "*preset must be 'single', 'quick', 'cheap', 'standard' or 'thorough', not 'quik'."),
        ("perturbations=['swap']", "*unknown perturbation 'swap'*"),
        ("aggregation_rule='majorty'", "*unknown rule 'majorty': did you mean 'majority'?"),
        ("calibration='no.json'", "*no.json*"),
        ("max_calls=0", "*max_calls must be a number of at least 1, not 0*"),
        ("'quick'", "*takes keys, as in judgeharness(repetitions=3), not 'quick'."),
    ],
)
def test_a_wrong_marker_is_a_usage_error_before_anything_is_asked(marker: str, sentence: str, run: Run) -> None:
    tests = f"""
import pytest

def forbidden(case):
    raise SystemExit

@pytest.mark.judgeharness({marker})
def test_it(judgeharness):
    judgeharness(forbidden, CASE)
"""
    ran = run(tests)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["ERROR: judgeharness: *"])
    ran.stderr.fnmatch_lines([f"*{sentence.lstrip('*')}"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--judgeharness-preset=quik",),
            "preset must be 'single', 'quick', 'cheap', 'standard' or 'thorough', not 'quik'.",
        ),
        (("--judgeharness-shape=pairs",), "shape must be 'pairwise', 'labels', 'scores' or 'any', not 'pairs'."),
        (
            ("--judgeharness-config=none.yaml",),
            "none.yaml: cannot be read (No such file or directory): give a configuration",
        ),
        (("--judgeharness-config=bad.yaml",), "bad.yaml: unknown key 'harnes': did you mean 'harness'?"),
        (("--judgeharness-max-calls=many",), "judgeharness_max_calls is a whole number of at least 1, not 'many'."),
        (("--judgeharness-max-calls=0",), "judgeharness_max_calls is a whole number of at least 1, not '0'."),
        (("--judgeharness-max-abstention=few",), "judgeharness_max_abstention is a share from 0 to 1, not 'few'."),
        (("--judgeharness-min-consistency=7",), "min_consistency is a share from 0 to 1, not 7."),
        (("--judgeharness-fail-under=pass_rat>=0.9",), "'pass_rat'"),
        (("--judgeharness-on-abstain=ignore",), "unknown judgeharness_on_abstain 'ignore'"),
        (("--judgeharness-out=report.pdf",), "unknown ending of judgeharness_out '.pdf'"),
        (("--judgeharness-html=report.txt",), "judgeharness_html is a file that ends in .html, not 'report.txt'."),
        (("--judgeharness-out=test_suite.py/x.json",), "cannot be written (Not a directory)"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    options: tuple[str, ...], sentence: str, run: Run, pytester: pytest.Pytester
) -> None:
    (pytester.path / "bad.yaml").write_text("harnes: {}")
    ran = run("\ndef test_it(): pass\n", *options)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in ran.stderr.str()


@pytest.mark.slow
def test_a_calibration_of_a_marker_is_read_from_the_root_of_the_suite(run: Run, pytester: pytest.Pytester) -> None:
    labels = pytester.path / "labels.csv"
    labels.write_text("case_id,input,output,gold\n" + "".join(f"c{n},x,Hello *{n}*,PASS\n" for n in range(4)))
    (pytester.path / "suite.toml").write_text(
        '[harness]\nshape = "labels"\n[calibration]\nlabels = "labels.csv"\nname = "people"\nsource = "human"\n'
    )
    ran = run(
        """
from judgeharness_integrations import JudgeIdentity
from judgeharness_integrations.testing import ScriptedJudge

def judge():
    return ScriptedJudge(["PASS"], name="known", identity=JudgeIdentity(name="known", model="m"))

def test_labels(judgeharness):
    result = judgeharness.check(judge(), CASE)
    assert result.calibration_source == "people"
    result.calibration.save("people.json")
""",
        "--judgeharness-config=suite.toml",
    )
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["known: calibrated on people*"])
    ran = run(
        """
import pytest
from judgeharness_integrations import JudgeIdentity
from judgeharness_integrations.testing import ScriptedJudge

@pytest.mark.judgeharness(shape="labels", calibration=__import__("pathlib").Path("people.json"))
def test_saved(judgeharness):
    judge = ScriptedJudge(["PASS"], name="known", identity=JudgeIdentity(name="known", model="m"))
    assert judgeharness.check(judge, CASE).calibrated_precision == 1.0
""",
        "--judgeharness-require-calibration",
        "--judgeharness-preset=standard",
    )
    ran.assert_outcomes(passed=1)
    assert ran.ret == 1  # it was read, and labels of one kind cannot tell the judge from a constant one
    assert "every label is 'PASS'" in " ".join(ran.stdout.str().split())


CERTIFIED = """
import json
import pytest
from judgeharness_integrations import AnswerCase, JudgeHarness, JudgeIdentity
from judgeharness_integrations.analysis.certifying import Certificate, Selection
from judgeharness_integrations.analysis.calibration.saved import DEFAULT_MAX_AGE
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.testing import ScriptedJudge

def known(*says):
    return ScriptedJudge(list(says), name="known", identity=JudgeIdentity(name="known", model="m"))
"""
CERTIFYING = """
from datetime import UTC, datetime
from judgeharness_integrations.analysis.certifying import Wanted, certify
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.verdictlog import VerdictRow

def test_certify(judgeharness):
    judge = known("PASS")
    harness = judgeharness.harness_for(judge, CASE)
    rows = [
        VerdictRow(case_id=f"c{n}", judge="known", verdict=gold, gold=gold, repetition=place, perturbation="none")
        for n in range(40) for gold in ("PASS" if n % 2 else "FAIL",) for place in range(4)
    ]
    design = harness.design_for(judge)
    certificate = certify(
        rows, design.rule, Wanted(agreement=0.9, delta=0.1), Labels(name="people", source="human"),
        parts=fingerprint_parts(judge, design, None), measured_at=datetime.now(UTC).isoformat(),
    )
    certificate.save("certificate.json")
"""


@pytest.mark.slow
def test_a_certificate_of_a_marker_or_a_file_withholds_what_it_does_not_certify(
    run: Run, pytester: pytest.Pytester
) -> None:
    design = '[harness]\nperturbations = ["none"]\nrepetitions = 4\naggregation_rule = "majority"\n'
    (pytester.path / "plain.toml").write_text(design)
    (pytester.path / "held.toml").write_text(f'certificate = "certificate.json"\n{design}')
    run(CERTIFIED + CERTIFYING, "--judgeharness-config=plain.toml").assert_outcomes(passed=1)
    split = """
def test_split(judgeharness):
    result = judgeharness(known("PASS", "PASS", "PASS", "FAIL"), CASE)
    assert result.status == "abstained", result.reason
    assert "below 1.0" in result.reason

def test_sure(judgeharness):
    judgeharness.check(known("PASS"), AnswerCase(case_id="sure", output="Hi"))
"""
    marked = 'pytestmark = pytest.mark.judgeharness(certificate="certificate.json")\n'
    for tests, config in ((CERTIFIED + marked + split, "plain.toml"), (CERTIFIED + split, "held.toml")):
        ran = run(tests, f"--judgeharness-config={config}")
        ran.assert_outcomes(passed=2)
        assert "known: certificate: people: decided cases agree with people at least 90 %" in ran.stdout.str()
    missing = 'pytestmark = pytest.mark.judgeharness(certificate="no.json")\n'
    refused = run(CERTIFIED + missing + split, "--judgeharness-config=held.toml")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "certificate" in refused.stderr.str()


PASSPORT = """
from support.planted_probabilities_judge import PlantedJudge

from judgeharness_integrations import AnswerCase

def test_sure(judgeharness):
    result = judgeharness(PlantedJudge(), AnswerCase(case_id="sure", output="5.5"))
    assert (result.status, result.usage.calls) == ("decided", 1), result.reason

def test_moved(judgeharness):
    result = judgeharness(PlantedJudge(resolved="planted-2"), AnswerCase(case_id="moved", output="5.5"))
    assert result.reason == "the passport on labels is expired: its answers came from planted-1, these from planted-2"
"""


@pytest.mark.slow
def test_a_passport_of_a_marker_or_a_file_brings_its_design_and_decides(run: Run, pytester: pytest.Pytester) -> None:
    PassportOffice(PlantedJudge(), planted_cases(300)).take().save(pytester.path / "passport.json")
    (pytester.path / "suite.toml").write_text('passport = "passport.json"\n')
    run(PASSPORT, "--judgeharness-config=suite.toml").assert_outcomes(passed=2)
    marked = 'import pytest\npytestmark = pytest.mark.judgeharness(passport="passport.json")\n'
    run(marked + PASSPORT).assert_outcomes(passed=2)


def test_judges_are_counted_among_the_candidates_of_their_labels(run: Run, pytester: pytest.Pytester) -> None:
    labels = pytester.path / "labels.csv"
    rows = [f"c{n},x,Hello *{n}*,{'PASS' if n % 2 else 'FAIL'}\n" for n in range(6)]
    labels.write_text("case_id,input,output,gold\n" + "".join(rows))
    (pytester.path / "suite.toml").write_text(
        '[harness]\nperturbations = ["none"]\nrepetitions = 2\naggregation_rule = "majority"\n'
        '[calibration]\nlabels = "labels.csv"\nname = "people"\nsource = "human"\n'
    )
    tests = (
        CERTIFIED
        + """
def test_two(judgeharness):
    for name, candidates in (("one", 1), ("one", 1), ("two", 2)):
        judge = ScriptedJudge(["PASS"], name=name, identity=JudgeIdentity(name=name, model="m"))
        assert judgeharness(judge, CASE).calibration.candidates == candidates
"""
    )
    ran = run(tests, "--judgeharness-config=suite.toml")
    ran.assert_outcomes(passed=1)
    assert len((pytester.path / "labels.candidates.jsonl").read_text().splitlines()) == 2


@pytest.mark.slow
def test_the_marker_s_limit_is_checked_against_the_plan(run: Run) -> None:
    ran = run(
        """
import pytest

@pytest.mark.judgeharness(max_calls=5)
def test_it(judgeharness):
    judgeharness.check(passes, CASE)
"""
    )
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*BudgetError: the plan is*more than max_calls=5: nothing was asked."])
    assert Path("test_suite.py").exists()
