"""Versions of frameworks beyond those tried are named, where they are installed and in what is measured with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from matrix.run import LANES, PAGE, Lane, Outcome, page_with, read_lanes, run_lane, table

from judgeharness_adk.adapter import TESTED as ADK
from judgeharness_integrations import Criterion, HarnessResult, JudgeHarness, JudgeIdentity
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.adapters import VersionRange, adapters, beyond_tested, seam, untested
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_langchain.versions import TESTED as LANGCHAIN
from judgeharness_langsmith.versions import TESTED as LANGSMITH
from judgeharness_openevals.versions import TESTED as OPENEVALS

ROOT = Path(__file__).parent.parent
TRIED = VersionRange(lowest="0.8", newest="0.15")
NUMPY = version("numpy")
OLD = MappingProxyType({"numpy": VersionRange(lowest="0.1", newest="0.2")})
SENTENCE = f"numpy {NUMPY} is newer than the versions tried here (0.1 to 0.2)"
PROGRAM = "from judgeharness_integrations.cli import main; main()"
ALL = {"adk": ADK, "langchain": LANGCHAIN, "langsmith": LANGSMITH, "openevals": OPENEVALS}


class Framed:
    """A judge of a framework that has moved on."""

    name, identity = "framed", JudgeIdentity(name="framed")
    criteria = (Criterion(name="right", labels=("PASS", "FAIL")),)
    tested = OLD

    async def judge(self, probe: Probe) -> Judgment:
        return Judgment(answers=(Answer(criterion="right", verdict="PASS"),))


class Watching:
    """An observer of a framework that has moved on."""

    tested = OLD

    def begin(self, span: object) -> None:
        pass

    def end(self, span: object) -> None:
        pass


def measured(judge: Any, **options: Any) -> HarnessResult:
    harness = JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority", **options)
    return harness.evaluate(judge, {"case_id": "c", "output": "Paris."})


@pytest.mark.parametrize(
    ("found", "beside"),
    [
        ("0.7.38", "older"),
        ("0.8.0", None),
        ("0.15.9", None),
        ("0.15", None),
        ("0.16.1", "newer"),
        ("0.16.0rc1", "newer"),
        ("0.16rc1", "newer"),
        ("0.15a1", None),
        ("0.8rc1", None),
        ("0.7rc1", "older"),
        ("1", "newer"),
    ],
)
def test_a_release_series_is_compared(found: str, beside: str | None) -> None:
    assert TRIED.beside(found) == beside


def test_a_range_in_words() -> None:
    assert str(TRIED) == "0.8 to 0.15"
    assert str(VersionRange(lowest="1.0", newest="1.0")) == "1.0"


def test_only_what_is_installed_is_named() -> None:
    assert untested(OLD) == (SENTENCE,)
    assert untested({"numpy": VersionRange(lowest="99.0", newest="99.1")}) == (
        f"numpy {NUMPY} is older than the versions tried here (99.0 to 99.1)",
    )
    assert untested({"no-such-distribution": TRIED}) == ()
    assert beyond_tested((Framed(), Watching(), object())) == (SENTENCE,)


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_the_tests_run_against_was_tried(name: str) -> None:
    assert adapters()[name].tested == ALL[name]
    assert untested(ALL[name]) == ()


def test_a_judge_may_call_something_of_its_own_so() -> None:
    class Own(Framed):
        tested: Any = True

    class Mapped(Framed):
        tested: Any = {"numpy": "yes"}  # noqa: RUF012 - as people write it

    assert measured(Own()).untested == measured(Mapped()).untested == ()


# a result


def test_a_result_says_what_it_does_not_stand_on() -> None:
    result = measured(Framed())
    assert result.untested == (SENTENCE,)
    document = result.to_dict(rows=True)
    assert SENTENCE in document["not_measured"]
    assert document["untested"] == [SENTENCE]
    assert HarnessResult.from_dict(document).untested == (SENTENCE,)
    assert SENTENCE in result.report()


def test_who_watches_counts_as_well() -> None:
    assert measured(lambda case: "PASS", observers=[Watching()]).untested == (SENTENCE,)


def test_nothing_is_said_of_versions_that_were_tried() -> None:
    document = measured(lambda case: "PASS").to_dict()
    assert "untested" not in document
    assert not any("versions tried" in sentence for sentence in document["not_measured"])


# what is not public


def test_a_part_that_has_gone_is_named_with_both_versions() -> None:
    with pytest.raises(UsageError) as caught:
        seam(json, "_no_such", package="numpy", tested=OLD, extra="[more]")
    assert str(caught.value) == (
        f"numpy {NUMPY} has no json._no_such: install the newest that was tried, pip install 'numpy[more]==0.2.*'."
    )
    assert seam(json, "dumps", package="numpy", tested=OLD) is json.dumps


# the command


@pytest.mark.slow
def test_the_command_names_a_version_beyond_without_a_warning(tmp_path: Path) -> None:
    info = tmp_path / "langsmith-0.16.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: langsmith\nVersion: 0.16.1\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    sentence = "langsmith 0.16.1 is newer than the versions tried here (0.8 to 0.15)"
    for option in ((), ("--json",)):
        command = [sys.executable, "-W", "error", "-c", PROGRAM, "adapters", *option]
        ran = subprocess.run(  # noqa: S603 - our own command
            command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True, timeout=110
        )
        assert ran.stderr == ""
        if option:
            [facts] = [one for one in json.loads(ran.stdout)["adapters"] if one["name"] == "langsmith"]
            assert facts["untested"] == [sentence]
            assert facts["versions"] == [
                {"package": "langsmith", "installed": "0.16.1", "lowest": "0.8", "newest": "0.15"}
            ]
        else:
            assert f"langsmith: {sentence}" in ran.stdout.splitlines()


# the matrix


def test_every_framework_has_a_lane_of_its_lowest_and_its_newest_version() -> None:
    lanes = read_lanes()
    assert {lane.name for lane in lanes} == {f"{name}-{edge}" for name in ALL for edge in ("lowest", "newest")}
    for lane in lanes:
        asked, edge = lane.versions, lane.name.rpartition("-")[2]
        assert lane.name == f"{lane.framework}-{edge}"
        for package, tried in ALL[lane.framework].items():
            series = tried.lowest if edge == "lowest" else tried.newest
            assert asked[package].rpartition(".")[0] == series, (lane.name, package)


def test_the_extras_take_the_lowest_version_and_what_comes() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras["adk"] == [f"google-adk[eval]>={ADK['google-adk'].lowest}"]
    assert extras["langsmith"] == [f"langsmith>={LANGSMITH['langsmith'].lowest},<1"]
    [lowest] = [lane.versions["openevals"] for lane in read_lanes(["openevals-lowest"])]
    assert extras["openevals"] == [f"openevals>={lowest},<1"]


def test_the_page_holds_what_the_matrix_printed() -> None:
    page = PAGE.read_text("utf-8")
    rows = {name: told for name, *told in re.findall(r"^\| (\S+) \| (.+) \| (.+) \|$", page, re.MULTILINE)}
    lanes = {lane.name: lane for lane in read_lanes()}
    assert lanes.keys() <= rows.keys(), f"run tests/matrix/run.py --write: {LANES} has other lanes than the page"
    for name, lane in lanes.items():
        shown, state = rows[name]
        assert state == "works", name
        for package, asked in lane.versions.items():
            assert f"{package} {asked}" in shown.split(", "), name


def test_a_table_of_outcomes() -> None:
    known = {
        "versions": {"openai": "3.0", "langsmith": "0.8.0", "other": "1"},
        "seconds": 1.0,
        "framework": "langsmith",
    }
    outcomes = [
        Outcome(lane="first", state="works", **known),
        Outcome(lane="second", state="not installable", why="gone", **known | {"versions": {}}),
    ]
    text = table(outcomes, "2026-11-22", "3.11.7")
    assert text.splitlines() == [
        "Run on 2026-11-22 with Python 3.11.7:",
        "",
        "| lane | versions | |",
        "|---|---|---|",
        "| first | langsmith 0.8.0, openai 3.0 | works |",
        "| second | none | not installable |",
    ]
    page = "# Page\n<!-- lanes -->\nold\n<!-- end of lanes -->\nafter\n"
    assert page_with(page, text) == f"# Page\n<!-- lanes -->\n{text}\n<!-- end of lanes -->\nafter\n"


@pytest.mark.slow
def test_a_lane_the_index_has_no_versions_for_is_not_installable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("PIP_NO_INDEX", "UV_OFFLINE", "UV_NO_INDEX"):
        monkeypatch.setenv(name, "1")
    lane = Lane(name="gone-newest", framework="langsmith", extra="langsmith", pins=("langsmith==99.0.0",))
    outcome = run_lane(lane, tmp_path / "judgeharness_integrations-0.1.0-py3-none-any.whl", tmp_path / "gone")
    assert (outcome.state, outcome.versions) == ("not installable", {})
    assert outcome.why == "the package index has no such set: langsmith==99.0.0"
    assert capfd.readouterr().err  # what the installer said


@pytest.mark.slow
def test_a_lane_whose_installation_takes_too_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matrix.run._SECONDS", 0.001)
    monkeypatch.setattr("shutil.which", lambda _: None)  # venv makes the environment, pip installs
    lane = Lane(name="slow-newest", framework="langsmith", extra="langsmith", pins=("langsmith==0.15.1",))
    outcome = run_lane(lane, tmp_path / "judgeharness_integrations-0.1.0-py3-none-any.whl", tmp_path / "slow")
    assert (outcome.state, outcome.why) == ("fails", "its installation did not end in 0.001 s")


def test_an_unknown_lane_is_named() -> None:
    with pytest.raises(SystemExit, match="no lane langchian: there are langchain-lowest"):
        read_lanes(["langchian"])


@pytest.mark.slow
@pytest.mark.timeout(1_000)
def test_decision_models_are_asked_by_the_newest_clients_in_an_environment_of_their_own(tmp_path: Path) -> None:
    [lane] = read_lanes(["langchain-newest"])
    outcome = run_lane(lane, ROOT, tmp_path / "environment")
    if outcome.state == "not installable":
        pytest.skip(outcome.why)
    assert (outcome.state, outcome.why) == ("works", "")
    assert outcome.versions["openai"].startswith("3.")
