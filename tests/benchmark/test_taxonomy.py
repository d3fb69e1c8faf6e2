"""The default types, and files that people write: read as they are meant, refused with what to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import CaseError, ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Behaviour, FailureType, Taxonomy
from judgeharness_integrations.benchmark.taxonomy import default_taxonomy, load_taxonomy

FAILURES = [
    "self_contradiction",
    "evasion",
    "disorganized",
    "fabricated_answer",
    "instruction_forgetting",
    "no_clarification",
    "unnecessary_refusal",
]
BEHAVIOURS = ["focused", "integrative", "scattered", "skeptical", "misinformed", "exploratory", "underspecified"]
MINE = """
extends: default
failure_types:
  - {name: unit_confusion, definition: A wrong unit., flaw: It shifts the unit., benign: It keeps the unit.}
"""
WHOLE = """
failure_types: [{name: rude, definition: d, flaw: f, benign: b, earliest_round: 3}]
behaviours: [{name: calm, description: Stays calm.}]
"""


def written(folder: Path, text: str, name: str = "taxonomy.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_default_types_are_the_seven_and_the_seven_each_told_in_full() -> None:
    found = load_taxonomy(None)
    assert (list(found.failure_types), list(found.behaviours)) == (FAILURES, BEHAVIOURS)
    late = {name for name, entry in found.failure_types.items() if entry.earliest_round > 1}
    assert late == {"self_contradiction", "instruction_forgetting"}
    texts = [t for e in found.failure_types.values() for t in (e.definition, e.flaw, e.benign)]
    texts += [entry.description for entry in found.behaviours.values()]
    assert len(set(texts)) == 28
    assert all(len(text) > 60 and text == text.strip() and "\n" not in text for text in texts)


def test_what_judges_are_told_names_no_other_type() -> None:
    found = default_taxonomy()
    for entry in found.failure_types.values():
        assert not any(name.replace("_", " ") in entry.definition.lower() for name in FAILURES)


def test_a_file_that_extends_keeps_the_default_types_and_adds_its_own(tmp_path: Path) -> None:
    found = load_taxonomy(written(tmp_path, MINE))
    assert list(found.failure_types) == [*FAILURES, "unit_confusion"]
    assert found.failure_types["unit_confusion"].flaw == "It shifts the unit."
    assert found.behaviours == default_taxonomy().behaviours


def test_a_type_of_a_default_name_takes_its_place(tmp_path: Path) -> None:
    text = "extends: default\nbehaviours: [{name: focused, description: My own words.}]\n"
    found = load_taxonomy(written(tmp_path, text))
    assert list(found.behaviours) == BEHAVIOURS
    assert found.behaviours["focused"].description == "My own words."


def test_without_extends_a_file_is_all_there_is(tmp_path: Path) -> None:
    found = load_taxonomy(written(tmp_path, WHOLE))
    assert (list(found.failure_types), list(found.behaviours)) == (["rude"], ["calm"])
    assert found.failure_types["rude"].earliest_round == 3


def test_the_taxonomy_of_a_benchmark_can_be_given_to_another_one(tmp_path: Path) -> None:
    folder = BenchmarkFolder(tmp_path)
    folder.write_taxonomy(load_taxonomy(written(tmp_path, MINE)))
    assert load_taxonomy(tmp_path / "taxonomy.json") == folder.taxonomy()


def test_entries_may_stand_under_their_names(tmp_path: Path) -> None:
    text = "failure_types: {rude: {definition: d, flaw: f, benign: b}}\nbehaviours: {calm: {description: c}}\n"
    assert list(load_taxonomy(written(tmp_path, text)).failure_types) == ["rude"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "failure_types: []\nbehaviours: [{name: calm, description: c}]",
            r"has no failure_types: write failure_types:",
        ),
        ("{}", r"has no failure_types: .* or extends: default"),
        (WHOLE.replace("behaviours:", "behaviour:"), r"unknown key 'behaviour': did you mean 'behaviours'\?"),
        (
            WHOLE.replace("flaw:", "flow:"),
            r"unknown key 'failure_types\[0\]\.flow': did you mean 'failure_types\[0\]\.flaw'",
        ),
        (WHOLE.replace("benign: b,", ""), r"key 'failure_types\[0\]\.benign' is missing"),
        (WHOLE.replace("flaw: f", "flaw: ' '"), r"failure_types\[0\]\.flaw: a text is wanted here"),
        (WHOLE.replace("flaw: f", "flaw: 3"), r"failure_types\[0\]\.flaw must be a text, not 3"),
        (
            WHOLE.replace("earliest_round: 3", "earliest_round: 0"),
            r"failure_types\[0\]\.earliest_round must be a number of at least 1, not 0",
        ),
        (WHOLE.replace("earliest_round: 3", "earliest_round: '3'"), r"must be a whole number, not '3'"),
        (WHOLE.replace("name: rude", "name: Rude Type"), r"a name is lower-case letters.*as in self_contradiction"),
        (WHOLE.replace("name: rude", f"name: {'a' * 61}"), "60 at most"),
        (WHOLE.replace("name: rude", "name: none"), "the name none has a meaning of its own, take another one"),
        (WHOLE.replace("name: calm", "name: rude"), "'rude' is a failure type and a behaviour: rename one"),
        (
            WHOLE.replace("behaviours: [", "behaviours: [{name: calm, description: c}, "),
            "behaviours holds 'calm' twice",
        ),
        (WHOLE.replace("[{name: calm, description: Stays calm.}]", "calm"), "behaviours must be a list, not 'calm'"),
        ("failure_types: {rude: {name: odd, definition: d}}", "holds the name 'odd': write the same name in both"),
        ("failure_types: {rude: 3}", r"failure_types\[0\] must be a mapping of keys"),
        ("extends: mine", "extends must be 'default', not 'mine'"),
        ("- a", "is a mapping of keys, not a list"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_the_key_and_what_to_write(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=says) as caught:
        load_taxonomy(path)
    assert isinstance(caught.value, UnknownNameError) or str(path) in str(caught.value)


def test_a_behaviour_of_a_default_failure_types_name_is_refused(tmp_path: Path) -> None:
    text = "extends: default\nbehaviours: [{name: evasion, description: c}]\n"
    with pytest.raises(ConfigError, match="'evasion' is a failure type and a behaviour"):
        load_taxonomy(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.yaml: cannot be read"):
        load_taxonomy(tmp_path / "missing.yaml")


@pytest.mark.parametrize("kind", ["failure_types", "behaviours"])
def test_a_record_under_another_name_is_refused(kind: str) -> None:
    failure = FailureType(name="rude", definition="d", flaw="f", benign="b")
    whole = Taxonomy(failure_types={"rude": failure}, behaviours={"calm": Behaviour(name="calm", description="c")})
    data: dict[str, Any] = json.loads(whole.to_line())
    assert Taxonomy.from_dict(data, where="t") == whole
    name = next(iter(data[kind]))
    data[kind]["other"] = data[kind].pop(name)
    with pytest.raises(CaseError, match=f"t: the record: .*'other' holds the entry of {name!r}"):
        Taxonomy.from_dict(data, where="t")
