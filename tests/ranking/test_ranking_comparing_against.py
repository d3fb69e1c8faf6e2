from __future__ import annotations

import json

import pytest

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.comparing import against

HERE = {"gpt": 1620.0, "llama": 1500.0, "qwen@short": 1480.0, "mistral": 1400.0, "only here": 1700.0}
THERE = {"llama": 1560.0, "gpt": 1510.0, "qwen@short": 1510.0, "mistral": 1420.0}


def test_ranks_are_among_the_judges_of_both() -> None:
    found = against(HERE, THERE, labels=("gpt's answers", "llama's answers"))
    assert (found.name, found.name_against) == ("gpt's answers", "llama's answers")
    assert (found.only, found.only_against) == (1, 0)
    assert [(slope.judge, slope.rank, slope.rank_against, slope.change) for slope in found.slopes] == [
        ("gpt", 1, 2, -1),
        ("llama", 2, 1, 1),
        ("qwen@short", 3, 2, 1),
        ("mistral", 4, 4, 0),
    ]
    assert (found.slopes[1].elo, found.slopes[1].elo_against) == (1500.0, 1560.0)
    assert found.correlation.judges == 4
    assert (found.correlation.x, found.correlation.y) == (found.name, found.name_against)


def test_generators_are_left_out_of_the_second_correlation() -> None:
    without = against({**HERE, "phi": 1390.0}, {**THERE, "phi": 1100.0}, labels=("x", "y"), generators=(["gpt"], []))
    assert [slope.judge for slope in without.slopes if slope.generator] == ["gpt"]
    assert without.correlation_without_generators is not None
    assert (without.correlation.judges, without.correlation_without_generators.judges) == (5, 4)
    assert without.correlation_without_generators.spearman == 1.0 != without.correlation.spearman


def test_a_generator_stands_for_its_variants_and_not_for_longer_names() -> None:
    found = against(HERE, THERE, labels=("x", "y"), generators=({"qwen"}, {"mis"}))
    assert [slope.judge for slope in found.slopes if slope.generator] == ["qwen@short"]


@pytest.mark.parametrize("generators", [(), ("none of the judges",)])
def test_without_generators_there_is_one_correlation(generators: tuple[str, ...]) -> None:
    assert against(HERE, THERE, labels=("x", "y"), generators=(generators, ())).correlation_without_generators is None


def test_all_judges_may_be_generators() -> None:
    found = against(HERE, THERE, labels=("x", "y"), generators=(THERE.keys(), {"qwen"}))
    assert found.correlation_without_generators is not None
    assert found.correlation_without_generators.judges == 0
    assert found.correlation_without_generators.spearman is None


def test_logs_have_to_share_a_judge() -> None:
    with pytest.raises(UsageError, match="no judge is rated in both one and two"):
        against({"a": 1.0}, {"b": 1.0}, labels=("one", "two"))


@pytest.mark.parametrize("generators", [(), ("gpt",)])
def test_rankings_are_json(generators: tuple[str, ...]) -> None:
    plain = json.loads(json.dumps(against(HERE, THERE, labels=("x", "y"), generators=(generators, ())).to_dict()))
    assert plain["judges"] == 4
    assert plain["slopes"][0] == {
        "judge": "gpt",
        "elo": 1620.0,
        "elo_against": 1510.0,
        "rank": 1,
        "rank_against": 2,
        "generator": bool(generators),
        "change": -1,
        "wrote": ["x"] if generators else [],
    }
    assert (plain["correlation_without_generators"] is None) == (not generators)
