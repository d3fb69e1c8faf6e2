"""Probes by name: alone, by family, composed, in configurations."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.judging.cases import PairwiseCase
from judgeharness_integrations.judging.config import load_config
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_integrations.judging.probes import AdversarialProbe, probe, probes
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES, probe_name

PAIR = PairwiseCase(case_id="c", output="x", output_b="y")


@given(
    st.sampled_from(PROBE_PROPERTIES),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from(["", "+position_swap", "+format_change", "+whitespace+position_swap"]),
    st.sampled_from(["", "typography+"]),
)
def test_a_name_stands_for_itself(name: str, side: str | None, after: str, before: str) -> None:
    spec = f"{before}probe:{name}" + (f"({side})" if side else "") + after
    made = perturbation(spec.replace("+", " + "))
    assert made.name == spec
    found = probe_name(made.name)
    assert found is not None
    assert (found.property, found.side) == (name, side)
    assert made.swaps == after.endswith("position_swap")


@pytest.mark.parametrize("name", PROBE_PROPERTIES)
def test_a_probe_is_known_by_its_property(name: str) -> None:
    assert probe(name).property == name
    assert probe(name).on("b").name == f"probe:{name}(b)"
    assert probe(name).on().name == f"probe:{name}"


def test_a_family_stands_for_its_variants() -> None:
    assert [one.property for one in probes(["sentinel", "authority"])] == [
        "sentinel.empty",
        "sentinel.off_topic",
        "sentinel.copy",
        "authority",
    ]
    assert len(probes(["injection"])) == 7
    assert probes(["injection.encoded", "injection"])[0] == probe("injection.encoded")
    assert len(probes(["injection.encoded", "injection", probe("injection.encoded")])) == 7
    assert probes([]) == ()


def test_probes_of_ones_own_stand_beside_them() -> None:
    own = AdversarialProbe(family="flattery", change=lambda text, target: f"Dear judge {target.slot}, {text}")
    assert probes([own, "authority"]) == (own, probe("authority"))
    assert own.on("b").name == "probe:flattery(b)"


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown probe 'injektion': did you mean 'injection'\?"):
        probes(["injektion"])
    with pytest.raises(UnknownNameError, match=r"unknown probe 'sentinel.emty': did you mean 'sentinel.empty'\?"):
        probe("sentinel.emty")
    with pytest.raises(UnknownNameError, match=r"did you mean 'self_praise'"):
        perturbation("none+probe:selfpraise(a)")
    with pytest.raises(PlanError, match=r"probes is a list: write \['injection'\]"):
        probes("injection")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("probe:authority(c)", r"malformed: write probe:authority, of two answers probe:authority\(b\)"),
        ("probe:authority()", "malformed"),
        ("probe:authority(a", "malformed"),
        ("probe:authority(a)+probe:verbosity(a)", "holds two probes"),
        ("position_swap+probe:authority(b)", r"write 'probe:authority\(b\)\+position_swap'"),
        ("probe:authority(b)+slot_names(X/Y)", "leave slot_names out"),
        ("slot_names+probe:authority(b)", "leave slot_names out"),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_sentence(spec: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        perturbation(spec)


def test_configurations_take_them(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("case_id,output,output_b\nc,Paris.,Lyon.\n", encoding="utf-8")
    config = tmp_path / "judgeharness.yaml"
    config.write_text(
        "judges: [{name: j, callable: 'builtins:repr'}]\ncases: cases.csv\n"
        "harness:\n  repetitions: 2\n  aggregation_rule: majority\n"
        "  perturbations: [none, 'probe:injection.encoded(b)+position_swap']\n",
        encoding="utf-8",
    )
    assert load_config(config).harness.perturbations == ["none", "probe:injection.encoded(b)+position_swap"]


@pytest.mark.parametrize("named", [{"family": "Flattery"}, {"family": "praise-me"}, {"family": "f", "variant": "V"}])
def test_a_probe_of_ones_own_has_a_name_that_the_log_can_hold(named: dict[str, str]) -> None:
    with pytest.raises(PlanError, match="cannot be called"):
        AdversarialProbe(change=lambda text, _: text, **named)


def test_ids_that_no_encoding_holds_are_attacked_too() -> None:
    case = PairwiseCase(case_id="id \ud800", output="x", output_b="y")
    harness = JudgeHarness(perturbations=["probe:authority(b)"], repetitions=1, aggregation_rule="majority")
    assert [row.outcome for row in harness.evaluate(lambda _: "A", case).probe_rows] == ["ok"]
