"""Items that ask word for word the same are one cluster of a panel, whoever labelled them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement.alttest import alt_test
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap
from judgeharness_integrations.analysis.agreement.kappatable import agreement_table
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
TEXTS, COPIES = 16, 5
PEOPLE = ("ann", "bob", "cy")


def rows(*, copies: bool = True, **attributes: str) -> list[VerdictRow]:
    """Return labels of three people, and a judge's with digests of texts, about sixteen texts in five copies each."""
    found = []
    for item in range(TEXTS * COPIES):
        text = item % TEXTS
        for place, name in enumerate(("ann", "bob", "cy", "judge")):
            right = (text * (place + 3) + place) % 5 > 0
            digest = {"text_digest": f"t{text if copies else item}"} if name == "judge" else {}
            verdict = "PASS" if (text % 2 == 0) == right else "FAIL"
            found.append(VerdictRow(case_id=f"c{item}", judge=name, verdict=verdict, attributes=digest | attributes))
    return found


def test_a_panel_joins_items_by_the_texts_of_any_rater() -> None:
    panel = Panel.from_rows(rows())
    assert panel.clusters is not None
    assert (len(set(panel.clusters.tolist())), panel.cluster_name) == (TEXTS, "text")
    [told] = panel.copied
    assert told.startswith("64 of 80 cases ask word for word what another case does, and count as one cluster with it")
    assert told.endswith(": intervals and tests are over 16 clusters")
    alone = Panel.from_rows(rows(copies=False))
    assert (alone.clusters, alone.cluster_name, alone.copied) == (None, None, ())


def test_a_named_column_joins_beside_texts() -> None:
    two = [row for row in rows() if row.case_id in {"c0", "c1", "c16", "c17"}]  # two texts, twice each
    named = [
        VerdictRow(
            case_id=row.case_id,
            judge=row.judge,
            verdict=row.verdict,
            attributes={**row.attributes, "document": "d" if row.case_id in {"c0", "c1"} else row.case_id},
        )
        for row in two
    ]
    panel = Panel.from_rows(named, cluster="document")
    assert panel.clusters is not None
    assert (set(panel.clusters.tolist()), panel.cluster_name) == ({0}, "document")
    own = Panel.from_rows([*rows(copies=False, cluster="k")])
    assert own.cluster_name == "cluster"


def test_intervals_of_kappa_resample_texts_and_the_value_stays() -> None:
    joined, alone = (
        agreement_table(Panel.from_rows(rows(copies=copies)), humans=PEOPLE, bootstrap=Bootstrap(replicates=300))
        for copies in (True, False)
    )
    assert (joined.cluster, joined.clusters) == ("text", TEXTS)
    assert "resamples by text (16 of them)" in joined.intervals
    for one, other in zip(joined.pairs, alone.pairs, strict=True):
        assert one.coefficient.value == other.coefficient.value
        low, high = one.coefficient.interval or (0.0, 0.0)
        narrow = other.coefficient.interval or (0.0, 0.0)
        assert high - low > 1.5 * (narrow[1] - narrow[0])


def test_the_alternative_test_counts_texts_beside_the_test_of_the_paper() -> None:
    joined, alone = (
        alt_test(Panel.from_rows(rows(copies=copies)), humans=PEOPLE, candidates=["judge"]) for copies in (True, False)
    )
    (one,), (other,) = joined.candidates, alone.candidates
    assert one.omega == other.omega
    assert {test.clusters for test in one.annotators} == {TEXTS}
    assert {test.clusters for test in other.annotators} == {None}
    assert joined.scope.copies[0] in joined.scope.sentences()
    assert joined.scope.copies[0].startswith("64 of 80 cases ask word for word")


@pytest.mark.parametrize("arguments", [("kappa",), ("alt-test", "--humans", "ann,bob,cy", "--candidate", "judge")])
def test_the_commands_say_what_is_a_copy(command: Command, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    log = write_log(rows(), tmp_path / "panel.jsonl")
    ran = command("agreement", arguments[0], log, *arguments[1:])
    assert "64 of 80 cases ask word for word what another case does" in " ".join(ran.out.split())
