"""A run by batch in short; `test_execution_batches` has what can go wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.batch_server import Faults
from support.batched import CALLS, Batched

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("judgeharness_langchain")


def test_a_batch_whose_submit_was_cut_off_and_that_expired_is_paid_once_a_request(tmp_path: Path) -> None:
    with Batched(tmp_path, faults=Faults(dropped=1, expired=3)) as one:
        one.results()
        assert Counter(one.server.finish().values()) == {1: 4 * CALLS}
