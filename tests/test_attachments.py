"""Attachments as `Attachments`: read once, whole for every call, known by what they hold, and not written down."""

from __future__ import annotations

import base64
import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.execution.preparing import content_digest
from judgeharness_integrations.judging.judge import JudgeIdentity, Judgment, Probe, as_judgment
from judgeharness_integrations.judging.structured import (
    Attachments,
    attachments_in,
    own_copy,
    structured_case,
    without_content,
)
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog import SqlLog

_RED = b"\x89PNG Red"


def given(content: bytes, *, url: str = "https://example.org/1", mime_type: str = "image/png") -> dict[str, Any]:
    return {"photo": {"presigned_url": url, "reader": io.BytesIO(content), "mime_type": mime_type}}


def test_what_is_attached_is_known_by_its_content_and_not_by_its_address() -> None:
    def attached(content: bytes, **more: str) -> Any:
        return structured_case(outputs="a", extra={"attachments": given(content, **more)})

    first, again, other = attached(b"red"), attached(b"red", url="https://example.org/2"), attached(b"blue")
    assert first == again != other
    assert first.case_id == again.case_id != other.case_id
    assert content_digest(first) == content_digest(again) != content_digest(other)
    assert content_digest(first) is not None
    assert attached(b"red", mime_type="image/jpeg").case_id != first.case_id


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, own_copy])  # noqa: S301
def test_a_copy_is_read_from_the_beginning(copied: Any) -> None:
    attached = attachments_in(given(b"red"))
    assert isinstance(attached, Attachments)
    assert attached["photo"]["reader"].read(1) == b"r"
    assert attached["photo"]["reader"].read() == b"ed"
    assert copied(attached)["photo"]["reader"].read() == b"red"
    assert list(attached) == ["photo"]
    assert len(attached) == 1
    assert "gone" not in attached


def test_a_judge_of_one_s_own_reads_the_whole_file_each_time() -> None:
    class Looking:
        name, identity, criteria = "looking", None, None

        async def judge(self, probe: Probe) -> Judgment:
            return as_judgment(probe.case.extra["attachments"]["photo"]["reader"].read() == b"red")

    harness = JudgeHarness(perturbations=["none", "format_change"], repetitions=2, aggregation_rule="majority")
    for case in (
        structured_case(outputs="a *text*", extra={"attachments": given(b"red")}),
        structured_case(case_id="own", outputs="a *text*", extra={"attachments": given(b"red")}),
    ):
        assert harness.evaluate(Looking(), case).verdict == "PASS"


def test_a_verdict_about_a_picture_is_used_again_for_this_picture_alone(tmp_path: Path) -> None:
    judge = ScriptedJudge([True], identity=JudgeIdentity(name="looking", model="gpt-4o"))
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    with SqlLog(tmp_path / "log.sqlite") as log:
        for run, content, asked in (("r1", _RED, 2), ("r2", _RED, 0), ("r3", b"blue", 2)):
            case = structured_case(case_id="c", outputs="It is red.", extra={"attachments": given(content, url=run)})
            rows = JudgeHarness(**design, log=log, run=run).evaluate(judge, case).rows
            assert sum("reused_from" not in row.attributes for row in rows) == asked
    written = (tmp_path / "log.sqlite").read_bytes()
    assert [secret in written for secret in (b"Red", base64.b64encode(_RED), _RED.hex().encode())] == [False] * 3


@pytest.mark.parametrize(
    "attached",
    [
        lambda content: {"photo": content},
        lambda content: {**given(content), "caption": "a photo"},
        lambda content: {**given(content), "old": {"presigned_url": "u", "reader": None, "mime_type": None}},
    ],
)
def test_a_run_is_not_continued_with_another_picture(tmp_path: Path, attached: Callable[[bytes], Any]) -> None:
    judge = ScriptedJudge([True], identity=JudgeIdentity(name="looking", model="gpt-4o"))
    design: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
    with SqlLog(tmp_path / "log.sqlite") as log:
        harness = JudgeHarness(**design, log=log, run="r1")

        def measured(content: bytes) -> Any:
            extra = {"attachments": attached(content)}
            return harness.evaluate(judge, structured_case(case_id="c", outputs="It is red.", extra=extra))

        assert measured(_RED).verdict == measured(_RED).verdict
        with pytest.raises(UsageError, match="holds another answer for case 'c'"):
            measured(b"blue")
        rows = list(log.rows(run="r1"))
    assert len(rows) == 2
    assert all(row.probe_hash for row in rows)
    assert b"Red" not in (tmp_path / "log.sqlite").read_bytes()


def test_what_has_no_reader_stands_beside_what_has_one() -> None:
    old = {"presigned_url": "https://example.org/old", "reader": None, "mime_type": None}
    case = structured_case(outputs="a", extra={"attachments": {"note": "hi", **given(b"red"), "old": old}})
    for _ in range(2):
        own = own_copy(case.extra["attachments"])
        assert own["photo"]["reader"].read() == b"red"
        assert (own.pop("note"), own.pop("old"), list(own)) == ("hi", old, ["photo"])
    shown = without_content(case.extra["attachments"])
    assert (shown["note"], shown["old"]) == ("hi", {"reader": None, "mime_type": None})
    assert len(case.extra["attachments"]) == 3
    assert pickle.loads(pickle.dumps(case)) == case  # noqa: S301


def test_a_text_is_read_as_its_bytes_and_a_stream_once() -> None:
    class Stream:
        def read(self) -> str:
            return "größer"

    found = attachments_in({"note": {"reader": Stream(), "mime_type": "text/plain"}})
    assert found["note"]["reader"].read() == "größer".encode()
    assert found.files["note"].data_uri.startswith("data:text/plain;base64,Z3L")


@pytest.mark.parametrize(
    "value", [None, [], {}, "https://example.org/1", [{"mime_type": "image/png", "data": "data:"}]]
)
def test_attachments_of_another_form_stay_as_they_are(value: Any) -> None:
    assert attachments_in(value) is value


def test_one_that_cannot_be_read_is_said_without_its_address() -> None:
    closed = given(b"red")
    closed["photo"]["reader"].close()
    with pytest.raises(CaseError, match=r"attachment 'photo' cannot be read \(ValueError\)") as raised:
        structured_case(outputs="a", extra={"attachments": closed})
    assert "example.org" not in str(raised.value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (
            [{"mime_type": "image/png", "data": "data:image/png;base64,AAAA"}],
            [{"mime_type": "image/png", "data": "26 characters"}],
        ),
        ("https://example.org/1.png", "https://example.org/1.png"),
        (
            {"input_audio": {"data": "A" * 2_000, "seconds": 3}},
            {"input_audio": {"data": "2000 characters", "seconds": 3}},
        ),
        ((b"red", io.BytesIO(b"red"), None), ["3 bytes", "BytesIO", None]),
    ],
)
def test_a_trace_is_shown_nothing_of_a_file(value: Any, shown: Any) -> None:
    assert without_content(value) == shown


def test_what_stands_in_a_trace_of_a_file_is_its_digest() -> None:
    described = without_content(given(b"red"))
    assert described == {
        "photo": {
            "mime_type": "image/png",
            "sha256": "b1f51a511f1da0cd348b8f8598db32e61cb963e5fc69e2b41485bf99590ed75a",
            "bytes": 3,
        }
    }
    assert repr(attachments_in(given(b"red"))) == f"Attachments({described})"
