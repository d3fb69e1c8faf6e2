"""What identifies a probe across runs: who is asked, what is shown, under which perturbation, the how-manieth time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from judgeharness_integrations.structured import Attachments

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.judging import Judge

__all__ = ["PROVENANCE", "content_digest", "judge_digest", "probe_hash", "value_digest"]

_DIGEST_BYTES = 16
_AS_TEXT = (datetime, date, time, Decimal, UUID, PurePath, Enum)
_NOT_SHOWN = frozenset({"case_id", "gold", "author", "author_b"})
PROVENANCE = frozenset({"run_id"})  # attributes that say where a case came from: equal ones come from several places


def judge_digest(judge: Judge, judge_model: str | None = None) -> bytes:
    """Return the digest of what makes a judge this judge.

    One that declares no identity has that of all judges nobody knows again: hashes made of it tell what was asked, not
    of whom.
    """
    identity = judge.identity
    criteria = [[c.name, c.description, c.labels, c.scale] for c in judge.criteria or ()]
    if identity is None or identity.source is not None:
        return _digest(json.dumps({"unknown judge": criteria}, sort_keys=True, default=repr))
    parts = {
        "judge": identity.name,
        "model": judge_model or identity.model,
        "parameters": dict(identity.parameters),
        "prompt": identity.prompt_hash,
        "criteria": criteria,
    }
    return _digest(json.dumps(parts, sort_keys=True, default=repr))


def content_digest(case: Case) -> bytes | None:
    """Return the digest of what a judge is shown of a case; None where that cannot be written down."""
    if not is_dataclass(case):
        return value_digest(case)
    shown = {name: part for name, part in _plain(case).items() if name not in _NOT_SHOWN}
    if isinstance(told := shown.get("attributes"), Mapping):
        shown["attributes"] = {name: value for name, value in told.items() if name not in PROVENANCE}
    return value_digest(shown)


def value_digest(value: Any) -> bytes | None:
    """Return the digest of a value; None where it holds what nobody knows how to compare."""
    try:
        return _digest(json.dumps(value, sort_keys=True, default=_plain))
    except (TypeError, ValueError, RecursionError):
        return None


def probe_hash(judge: bytes, content: bytes, *, perturbation: str, repetition: int, seed: int) -> str:
    """Return the hash of a probe, 32 hexadecimal digits."""
    place = f"|{perturbation}|{repetition}|{seed}".encode()
    return hashlib.blake2b(judge + content + place, digest_size=_DIGEST_BYTES).hexdigest()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _plain(value: Any) -> Any:
    """Return a value as JSON can keep it, its kind included.

    What a dataclass is not compared by is none of its content.

    Raises:
        TypeError: nobody knows how.

    """
    if is_dataclass(value) and not isinstance(value, type):
        shown = {f.name: getattr(value, f.name) for f in fields(value) if f.compare}
        return {"kind": type(value).__name__, **shown}
    if isinstance(value, (str, int, float, list, tuple, dict)) or value is None:
        return value
    if isinstance(value, (bytes, bytearray, memoryview, *_AS_TEXT)):
        text = str(value) if isinstance(value, _AS_TEXT) else hashlib.sha256(bytes(value)).hexdigest()
        return {"kind": type(value).__name__, "text": text}
    if isinstance(value, Attachments):  # by their content: an answer about another picture is no answer
        return value.compared()
    if isinstance(value, (Mapping, set, frozenset)):
        return dict(value) if isinstance(value, Mapping) else sorted(value)
    if (dump := getattr(value, "model_dump", None)) is not None:  # pydantic
        return {"kind": type(value).__name__, "model": dump(mode="json")}
    raise TypeError(type(value).__name__)
