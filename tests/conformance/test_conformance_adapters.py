"""The adapters of this project keep what the harness promises."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from support.adk_offline import isolated_adk

from judgeharness_integrations.judging.adapterkit import Bench
from judgeharness_integrations.judging.adapters import adapters
from judgeharness_integrations.testing import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BENCHES = {
    f"{name}-{bench.name}": bench
    for name, adapter in adapters().items()
    for bench in (adapter.benches() if adapter.benches is not None else ())
    if isinstance(bench, Bench)
}


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with isolated_adk(tmp_path) if "adk-" in request.node.name else contextlib.nullcontext():
        yield
    assert list(folder.iterdir()) == []


@pytest.mark.sampled(33)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("bench", BENCHES.values(), ids=BENCHES)
def test_an_adapter_conforms(bench: Bench, check: str) -> None:
    if check in bench.opted_out:
        pytest.skip(bench.opted_out[check])
    CHECKS[check](bench)


def test_every_adapter_is_on_the_bench() -> None:
    assert {name.split("-")[0] for name in BENCHES} == set(adapters())


def test_no_opt_out_is_of_a_check_there_is_not() -> None:
    assert {check for bench in BENCHES.values() for check in bench.opted_out} <= set(CHECKS)
