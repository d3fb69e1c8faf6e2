"""Texts and data without secrets: the one redactor, used wherever a row, a span, an error or a report is made.

Two kinds of text are taken out: secrets that are known (see `knownsecrets`), also as JSON, URLs or base64 show them,
and whatever has a usual shape of one. Every pattern takes time that is linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar
from urllib.parse import quote, quote_plus

from judgeharness_integrations.knownsecrets import (
    SHORTEST,
    URL_USER,
    environment_secrets,
    is_keylike,
    model_secrets,
    names_secret,
    settings_secrets,
    without_query,
)

__all__ = ["REDACTED", "Redactor", "knowing", "redacted", "redactor", "without_secrets"]

REDACTED: Final = "[redacted]"  # stands for a secret, everywhere

_Value = TypeVar("_Value")


class Redactor:
    """Takes out of texts the secrets it knows, and whatever has the shape of one."""

    __slots__ = ("_known", "_long")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Know these secrets."""
        forms = {form for secret in set(secrets) if secret for form in _forms(secret)}
        self._known = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        # no secret is in a text without a run of characters as long as the longest word of the secret that has least
        shortest = min((max(map(len, form.split(" "))) for form in self._known), default=0)
        self._long = re.compile(f" [^ ]{{{shortest}}}").search

    def text(self, text: str) -> str:
        """Return a text without secrets: itself where there is none."""
        clean = text
        if self._known and self._long(f" {text}") and any(map(text.__contains__, self._known)):
            for form in self._known:
                clean = clean.replace(form, REDACTED)
        clean = _shapeless(clean)
        return text if clean == text else clean

    def data(self, value: _Value) -> _Value:
        """Return texts, mappings, sequences and dataclasses without secrets; the same object where there is none."""
        if isinstance(value, str):
            return self.text(value)  # type: ignore[return-value]
        if isinstance(value, Mapping):
            parts = {key: self.data(part) for key, part in value.items()}
            return value if all(parts[key] is value[key] for key in parts) else parts  # type: ignore[return-value]
        if type(value) in (list, tuple):
            items = [self.data(part) for part in value]  # type: ignore[attr-defined]
            same = all(new is old for new, old in zip(items, value, strict=True))  # type: ignore[call-overload]
            return value if same else type(value)(items)  # type: ignore[call-arg]
        if is_dataclass(value) and not isinstance(value, type):
            held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            changed = {name: new for name, old in held.items() if (new := self.data(old)) is not old}
            return _replaced(value, changed) if changed else value  # pyright: ignore[reportReturnType]
        return value


def _replaced(value: Any, changed: Mapping[str, Any]) -> Any:
    try:
        return replace(value, **changed)
    except Exception:  # noqa: BLE001 - a class that refuses its own fields must not let a secret pass
        return REDACTED


_blocks: Final[list[tuple[str, ...]]] = []  # what blocks of `knowing` know


def redactor(*models: object, settings: object = None) -> Redactor:
    """Return a redactor that knows the secrets of the environment as it is now, of models, judges and settings."""
    known = [secret for block in tuple(_blocks) for secret in block]
    return Redactor((*environment_secrets(os.environ), *known, *settings_secrets(settings), *model_secrets(*models)))


def without_secrets(text: str, settings: object = None) -> str:
    """Return a text, an error's for example, in which no secret of the settings or the environment occurs."""
    return redactor(settings=settings).text(text)


@contextmanager
def knowing(settings: object) -> Iterator[None]:
    """Let every redactor made inside the block know the secrets of settings; errors leave it without them.

    It holds for the whole process: judges run in threads and loops of their own.
    """
    block = tuple(settings_secrets(settings))
    _blocks.append(block)
    try:
        yield
    except Exception as error:
        error.args = redactor().data(error.args)
        raise
    finally:
        _blocks.remove(block)


def redacted(settings: Any) -> Any:
    """Return settings as JSON-able data: what stands under the name of a secret is replaced as a whole.

    Of a URL's query nothing is shown: its names say little about what is secret.
    """
    return _plain(settings, redactor(settings=settings))


def _plain(value: Any, known: Redactor) -> Any:
    if isinstance(value, Mapping):
        return {
            str(key): REDACTED if part is not None and names_secret(str(key)) else _plain(part, known)
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(part, known) for part in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return known.text(without_query(str(value), REDACTED))


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as texts show it: plain, in JSON, in a URL, and in base64, where it may begin at any of 3 bits."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    data = secret.encode("utf-8", "surrogatepass")
    yield from {quote(data, safe=""), quote(data), quote_plus(data)}
    for offset, first in ((0, 0), (1, 2), (2, 3)):  # the first character that depends on the secret alone
        encoded = base64.b64encode(bytes(offset) + data).decode("ascii")[first : (offset + len(data)) * 8 // 6]
        if len(encoded) >= SHORTEST:
            yield from {encoded, encoded.replace("+", "-").replace("/", "_")}


# Usual shapes ----------------------------------------------------------------------------------------------------

_BEGIN: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # in JSON the letter of an escape may stand before a key
_TOKENS: Final = re.compile(
    _BEGIN + r"(?:sk-(?=[a-z_-]{0,60}[A-Z0-9])[A-Za-z0-9_-]{8,}"
    r"|(?:[sr]k|pk)_(?:live|test)_\w{10,}|gh[opsru]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}"
    r"|hf_[A-Za-z0-9]{20,}|gsk_\w{20,}|xai-\w{20,}|pplx-\w{20,}|lsv2_\w{20,}|ya29\.[\w-]{20,}|npm_\w{30,}"
    r"|(?<![\w-])eyJ[\w-]{10,}+\.[\w-]{10,}+\.[\w-]{5,})",
    re.ASCII,
)
_AUTHORIZATION: Final = re.compile(r"\b(bearer|basic)(\s{1,8}|%20)([\w.~+/=-]{5,}[\w~+/=-])", re.IGNORECASE | re.ASCII)
_ASSIGNED: Final = re.compile(
    r"""(api[ _-]?key(?:\\?["'])?\s{0,3}(?:[:=]|provided:)\s{0,3}(?:\\?["'])?)([\w.~+/=-]{7,}[\w~+/=-])""",
    re.IGNORECASE | re.ASCII,
)
_PARAMETER: Final = re.compile(
    r"([?&;](?:[\w.-]{0,40}(?:key(?!w)|token(?!s)|secret|signature|passw|pwd|auth(?!or)|credential)[\w.-]{0,20}"
    r"""|code|sig|pass)=)[^\s&#"'<>]+""",
    re.IGNORECASE | re.ASCII,
)
_ENCODED_URL_USER: Final = re.compile(r"""(%3A%2F%2F)[^\s"<>&]{1,100}?%40""", re.IGNORECASE)
_PEM: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:\s|\\[nr]){0,8}[A-Za-z0-9+/=]{16}(?:[A-Za-z0-9+/=\s]|\\[nr])*+"
    r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)


def _authorization(found: re.Match[str]) -> str:
    scheme, space, token = found.groups()
    if scheme.lower() == "basic":
        secret = _is_basic(token)
    else:
        # `the bearer acknowledges`, `Bearer authentication` are words
        secret = is_keylike(token) or (scheme != "bearer" and len(token) >= SHORTEST and not token.isalpha())
    return f"{scheme}{space}{REDACTED}" if secret else found[0]


def _assigned(found: re.Match[str]) -> str:
    return f"{found[1]}{REDACTED}" if is_keylike(found[2]) else found[0]


def _is_basic(token: str) -> bool:
    """Whether a word is `user:password` as base64."""
    bare = token.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    return ":" in decoded and decoded.isprintable()


_Replacement = str | Callable[[re.Match[str]], str]
# Looked for first, since that is quick: a character or two of every text a pattern matches, and what follows from it.
_SHAPES: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str], _Replacement], ...]] = (
    ("@", ("://", ":\\/\\/"), URL_USER, rf"\1{REDACTED}@"),
    ("%", ("%3A%2F", "%3a%2f"), _ENCODED_URL_USER, rf"\1{REDACTED}%40"),
    ("=", ("?", "&", ";"), _PARAMETER, rf"\1{REDACTED}"),
    ("=", ("key", "Key", "KEY"), _ASSIGNED, _assigned),
    (":", ("key", "Key", "KEY"), _ASSIGNED, _assigned),
    ("earer", ("earer",), _AUTHORIZATION, _authorization),
    ("asic ", ("asic ",), _AUTHORIZATION, _authorization),
    ("K", ("PRIVATE KEY-",), _PEM, REDACTED),
    ("-", ("sk-", "glpat-", "xox", "xai-", "pplx-"), _TOKENS, REDACTED),
    ("_", ("_live_", "_test_", "gh", "glpat", "hf_", "gsk_", "lsv2_", "npm_"), _TOKENS, REDACTED),
    ("K", ("AKIA",), _TOKENS, REDACTED),
    ("z", ("AIza",), _TOKENS, REDACTED),
    ("J", ("eyJ",), _TOKENS, REDACTED),
    ("9", ("ya29.",), _TOKENS, REDACTED),
    ("ASIA", ("ASIA",), _TOKENS, REDACTED),
)
_GATES: Final = tuple(dict.fromkeys(gate for gate, *_ in _SHAPES))


def _shapeless(text: str) -> str:
    """Return a text without what has the shape of a secret."""
    if not any(map(text.__contains__, _GATES)):
        return text
    for gate, hints, pattern, replacement in _SHAPES:
        if gate in text and any(map(text.__contains__, hints)):
            text = pattern.sub(replacement, text)
    return text
