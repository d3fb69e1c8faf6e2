from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judgeharness_integrations.judging.perturbations as room
from judgeharness_integrations._errors import PlanError, UnknownNameError, UsageError
from judgeharness_integrations.judging.cases import PairwiseCase
from judgeharness_integrations.judging.perturbations import PERTURBATION_NAMES, Perturbation, perturbation

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

TEXTS = ("Judge this.", "Grade this.")
labels = st.text(st.characters(exclude_characters="/+()", exclude_categories=("C", "Z")), min_size=1)
parts = (
    st.sampled_from([name for name in PERTURBATION_NAMES if name != "prompt_variant"])
    | st.sampled_from(["prompt_variant", "prompt_variant(1)", "prompt_variant(2)", "slot_names(Response 1/Response 2)"])
    | st.tuples(labels, labels)
    .filter(lambda pair: len({*map(str.casefold, pair), "tie"}) == 3)
    .map("slot_names({0[0]}/{0[1]})".format)
)


def named(name: str) -> Perturbation:
    return perturbation(name, rewriter=str.upper, instructions=TEXTS)


@given(st.lists(parts, min_size=1, max_size=4))
def test_a_name_stands_for_itself(names: list[str]) -> None:
    name = "+".join(names)
    assert named(name).name == name
    assert named(named(name).name).name == name
    assert named("  +\t ".join(names) + " ").name == name


@pytest.mark.parametrize("name", PERTURBATION_NAMES)
def test_every_listed_name_is_known(name: str) -> None:
    assert named(name).name == name


def test_the_names_are_sorted() -> None:
    assert list(PERTURBATION_NAMES) == sorted(PERTURBATION_NAMES)
    assert len(PERTURBATION_NAMES) == 16


def test_parameters_reach_the_perturbation(apply: Apply) -> None:
    pair = PairwiseCase(case_id="p", output="x", output_b="y")
    shown = apply(named("position_swap+slot_names( X / Y )+prompt_variant(2)"), pair)
    assert (shown.output, shown.presentation.slot_names, shown.presentation.instructions) == ("y", ("X", "Y"), TEXTS[1])
    assert named("slot_names( X / Y )").name == "slot_names(X/Y)"
    assert named("prompt_variant( 02 )").name == "prompt_variant(2)"


def test_a_name_and_a_function_are_enough() -> None:
    own = Perturbation("mine", str.upper)
    assert (own.fits("x"), own.restore("A", "verdict"), own.rewrites("x")) == (None, "A", frozenset())
    assert Perturbation("mine", str.upper, rewriter=str.upper).rewrites("x") == frozenset()


@pytest.mark.parametrize("name", ["", " mine", "mine\n"])
def test_a_perturbation_the_log_cannot_name_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="needs a name"):
        Perturbation(name, str.upper)


def test_a_perturbation_is_returned_as_it_is() -> None:
    own = Perturbation("mine", str)
    assert perturbation(own) is own


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'position_swap'"):
        perturbation("none+positon_swap")
    with pytest.raises(UnknownNameError, match="unknown perturbation 'nothing'"):
        perturbation("nothing(1)")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "malformed"),
        ("none+", "malformed"),
        ("none++none", "malformed"),
        ("slot_names(X/Y", "malformed"),
        ("slot_names((X/Y))", "malformed"),
        ("slot_names(X/Y)z", "malformed"),
        ("slot_names(X)", r"slot_names\(first/second\)"),
        ("slot_names(X/Y/Z)", r"slot_names\(first/second\)"),
        ("slot_names(X/X)", "differ from each other"),
        ("slot_names(/Y)", "two labels"),
        ("slot_names()", r"slot_names\(first/second\)"),
        ("position_swap()", "takes no parameters"),
        ("paraphrase(2)", "takes no parameters"),
        ("prompt_variant()", "malformed"),
        ("prompt_variant(x)", "malformed"),
        ("prompt_variant(-1)", "malformed"),
        ("prompt_variant(0)", "malformed"),
        ("prompt_variant(\u0662)", "malformed"),
        ("prompt_variant(3)", "needs 3 prompt variants, and 2 are given"),
    ],
)
def test_malformed_names_are_refused(spec: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        named(spec)


@given(st.text())
def test_any_text_is_a_perturbation_or_a_clear_error(spec: str) -> None:
    try:
        found = named(spec)
    except UsageError:
        return
    assert named(found.name).name == found.name


@pytest.mark.parametrize("name", ["paraphrase", "prompt_variant"])
def test_a_rewriter_is_needed_where_one_is_called(name: str) -> None:
    with pytest.raises(PlanError, match="rewriter"):
        perturbation(name)


def test_what_has_no_name_is_refused() -> None:
    with pytest.raises(PlanError, match=r"Perturbation\(name, function\) gives it one"):
        perturbation(str.upper)
    with pytest.raises(PlanError, match="not int"):
        perturbation(5)


def test_everything_public_is_exported_and_sorted() -> None:
    # capitals, classes and functions stand in the order the linter keeps
    names = room.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert {"perturbation", "prompt_variants", "Context", "Rewriter", "compose", *PERTURBATION_NAMES} <= set(names)
    assert all(hasattr(room, name) for name in names)
    assert callable(room.none)
    assert callable(room.whitespace)
