from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.fingerprint import Fingerprint

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)
parts = st.dictionaries(st.text(min_size=1), values, max_size=5)


@given(parts)
def test_order_does_not_matter(given_parts: dict) -> None:
    mirrored = dict(reversed(given_parts.items()))
    assert Fingerprint(given_parts).digest == Fingerprint(mirrored).digest
    assert Fingerprint(given_parts).changes(mirrored) == ()


@given(parts, parts)
def test_digests_are_equal_iff_nothing_changed(mine: dict, theirs: dict) -> None:
    changes = Fingerprint(mine).changes(theirs)
    if Fingerprint(mine).digest == Fingerprint(theirs).digest:
        assert changes == ()
    assert set(changes) <= {*mine, *theirs}
    assert {*mine} ^ {*theirs} <= set(changes)
    assert changes == Fingerprint(theirs).changes(mine)


def test_a_digest_is_short_stable_and_takes_anything() -> None:
    assert Fingerprint({"rule": "majority"}).digest == Fingerprint({"rule": "majority"}).digest
    assert len(Fingerprint({"at": datetime(2026, 1, 1, tzinfo=UTC), "half": "\ud83d"}).digest) == 16
    assert Fingerprint({"a": (1, 2)}).digest == Fingerprint({"a": [1, 2]}).digest
    assert Fingerprint({"a": 1}).digest != Fingerprint({"a": "1"}).digest
