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
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from operator import is_
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeVar
from urllib.parse import quote, quote_plus, unquote

SHORTEST: Final = 12  # what is shorter, like `none` or `postgres`, is found in ordinary texts
_SHORTEST_OF_SETTINGS: Final = 6  # where what somebody wrote into a configuration looks like a key
_MOST: Final = 300  # objects looked at for the secrets of a judge; what holds its keys is near
_MOST_PARTS: Final = 100  # of one of them: a judge may hold a whole data set
_LONGEST_NAME: Final = 64  # characters
_CONTAINERS: Final = frozenset({dict, frozenset, list, set, tuple})
_OF_MODULES: Final = (BuiltinFunctionType, FunctionType, ModuleType, type, bool, bytes, float, int, str)
# their keys are copies, or they hold none
_INNARDS: Final = frozenset({"asyncio", "httpcore", "httpx", "inspect", "logging", "ssl", "threading"})
_NAME: Final = re.compile(
    r"api.?key|access.?key|private.?key|token(?!s|ize|.?(?:usage|count|limit|budget))|secret|passw|passphrase|credential|bearer|cookie|headers"
    r"|(?:default|extra).?query|connection.?string|auth(?!ors?(?![a-z])|ority)",  # authorization, but no author_b
    re.IGNORECASE,
)
_PLAIN_HEADER: Final = re.compile(
    r"user.?agent|accept|content.?type|connection$|host$|referer|x.stainless", re.IGNORECASE
)
_MANY: Final = re.compile(r"headers|cookie|query", re.IGNORECASE)  # below them stand secrets and other things
_VARIABLE: Final = re.compile(r"(?:^|_)(?:KEYS?|PASS|PAT|TOKENS)(?:_|\d|$)|_PWD$", re.IGNORECASE)
_ABOUT: Final = re.compile(  # where a secret is, or of which kind
    r"_(?:FILE|PATH|DIR|SOCK|SOCKET|HOST|NAME|MODE|TYPE|METHOD|PROVIDER|ENDPOINT|DOMAIN|REGION|URLS?|URI)$",
    re.IGNORECASE,
)
_BETWEEN_WORDS: Final = re.compile(r"[\s:=&,;]+")
_PATH: Final = re.compile(r"(?:~|\.{1,2})?/[^/\s]+(?:/|$)|[A-Za-z]:\\")
_URL: Final = re.compile(r"://\S+")
URL_USER: Final = re.compile(r"""(:(?:\\?/){2})([^/\s"<>`]+)@""")  # in JSON a slash may stand behind a backslash


@lru_cache(maxsize=2048)
def names_secret(name: str) -> bool:
    """Whether what stands under a name is taken for a secret."""
    return _NAME.search(name) is not None


def is_keylike(word: str) -> bool:
    """Whether a word is none of a language: it has a digit or a capital inside, or is longer than words are."""
    return len(word) >= 2 * SHORTEST or any(c.isdigit() for c in word) or any(c.isupper() for c in word[1:])


def without_query(text: str, mark: str) -> str:
    """Return a text with a mark instead of the query of every URL."""

    def marked(url: re.Match[str]) -> str:
        query = _query(url[0])
        return url[0].replace(f"?{query}", f"?{mark}", 1) if query else url[0]

    return _URL.sub(marked, text)


def environment_secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield values of at least 12 characters of variables named like keys, and credentials of URLs in any variable.

    A path to a secret is none, nor is the name of a kind of authorization.
    """
    for name, value in environment.items():
        if "://" in value:
            yield from _of_urls(value, SHORTEST)
        elif len(value) >= SHORTEST and (_VARIABLE.search(name) or names_secret(name)):
            text = value.strip()
            if _ABOUT.search(name) or _is_path(text):
                continue
            if text.startswith("{"):
                yield from _of_document(text)
            else:
                yield text
                pairs = "=" in text  # of names and values, of which most are no secrets
                yield from (word for word in _words(text, SHORTEST) if not pairs or is_keylike(word))


def settings_secrets(settings: object) -> Iterator[str]:
    """Yield every text of settings under a name like a key's, credentials and query of every URL, and words of each.

    `Bearer sk-1` is told as `sk-1`, too. What is shorter than 12 characters counts where it looks like a key.
    """
    return _held(settings, _SHORTEST_OF_SETTINGS, _entries)


def model_secrets(*models: object) -> Iterator[str]:
    """Yield what objects hold as `SecretStr` or under a name like a key's: judges, models, clients, their functions.

    Fields are read and no code of the objects runs; what lies deep inside a client is not reached.
    """
    return _held(models, SHORTEST, _parts, most=_MOST)


_Parts = Callable[[Any], Iterable[tuple[str, Any]]]


def _held(value: object, shortest: int, parts: _Parts, *, most: int | None = None) -> Iterator[str]:
    """Yield the secrets below a value, the nearest first."""
    ahead: deque[tuple[bool, bool, object]] = deque([(False, False, value)])
    seen: dict[int, object] = {}
    while ahead and (most is None or len(seen) < most):
        named, certain, one = ahead.popleft()
        if isinstance(one, str):
            yield from _of_text(one, shortest, named=named, certain=certain)
        elif callable(reveal := getattr(type(one), "get_secret_value", None)):
            secret = reveal(one)
            text = secret.decode("utf-8", "replace") if isinstance(secret, bytes) else str(secret)
            yield from _of_text(text, shortest, named=True, certain=True)
        elif one is not None and id(one) not in seen:
            seen[id(one)] = one  # held, so that its id is not given to another
            for name, part in islice(parts(one), None if most is None else _MOST_PARTS):
                if _is_bare(part) or (named and not certain and _is_plain(name)):
                    continue
                many, own = _holds_many(name), names_secret(name)
                if named or many or own or type(part) is not str or "://" in part:  # else nothing would be found
                    ahead.append((named or many or own, certain or (own and not many), part))


def _is_bare(part: object) -> bool:
    """Whether there is nothing below a part, which most of a judge's parts are."""
    if type(part) is FunctionType:
        return not part.__dict__ and next((False for one in _used_by(part) if one is not None), True)
    return part is None or isinstance(part, (int, float)) or (type(part) in _CONTAINERS and not part)


@lru_cache(maxsize=2048)
def _holds_many(name: str) -> bool:
    return _MANY.search(name) is not None


def _is_plain(name: str) -> bool:
    return _PLAIN_HEADER.match(name) is not None


def _entries(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and parts of plain data."""
    if isinstance(one, dict) or isinstance(one, Mapping):  # noqa: SIM101 - the first is quick, and most are
        with suppress(Exception):  # a pool of connections, say, refuses to be walked through
            yield from [(_name(key), part) for key, part in one.items() if part is not None]
    elif isinstance(one, (list, tuple, set, frozenset)):
        yield from (("", part) for part in one)


def _name(key: object) -> str:
    """Return what a part of a mapping is called; the key of a cache, a whole prompt say, is no name."""
    return key if isinstance(key, str) and len(key) <= _LONGEST_NAME else ""


def _parts(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and parts of plain data, the fields of an object, and what a function uses."""
    if isinstance(one, (type, ModuleType, bytes, int, float)) or type(one).__module__.partition(".")[0] in _INNARDS:
        return
    if isinstance(one, partial):
        yield from (("", one.func), ("", one.args), ("", one.keywords))
    elif isinstance(one, MethodType):
        yield "", one.__self__
        if not isinstance(one.__func__, FunctionType):
            yield "", one.__func__
        else:  # what it uses of its module is a library's more often than not
            yield from (("", part) for part in _own(one.__func__))
            yield from _entries(one.__func__.__dict__)
    elif isinstance(one, FunctionType):
        yield from (("", part) for part in _used_by(one))
    yield from _entries(one)
    yield from _entries(getattr(one, "__dict__", None))
    slots = getattr(type(one), "__slots__", ())
    for slot in (slots,) if isinstance(slots, str) else slots:
        if not slot.startswith("__"):  # what pydantic keeps there is looked through here as what it is
            yield slot, getattr(one, slot, None)
    if hasattr(type(one), "__pydantic_private__"):
        yield from _entries(getattr(one, "__pydantic_private__", None))
        yield from _entries(getattr(one, "__pydantic_extra__", None))


def _own(function: FunctionType) -> Iterator[object]:
    """Yield what a function is closed over, and its defaults."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not filled yet
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _used_by(function: FunctionType) -> Iterator[object]:
    """Yield what a function holds, and what it uses of its module, a client say.

    Of the module's functions and texts none: those lead on and on, and most of these are prompts.
    """
    yield from _own(function)
    for name in function.__code__.co_names:
        found = function.__globals__.get(name)
        if not isinstance(found, _OF_MODULES):
            yield found


def _of_text(text: str, shortest: int, *, named: bool, certain: bool) -> Iterator[str]:
    if named:
        found = _words(text, shortest)
        yield from (word for word in found if (certain and len(word) >= SHORTEST) or is_keylike(word))
    if "://" in text:
        yield from _of_urls(text, shortest)
        for url in _URL.findall(text):
            yield from (word for word in _words(_query(url), shortest) if is_keylike(word))


def _of_urls(text: str, shortest: int) -> Iterator[str]:
    """Yield the credentials of URLs: user and password together, and the password where it is long enough."""
    for _, user in URL_USER.findall(text):
        for form in {user, unquote(user)}:
            password = form.partition(":")[2]
            if password:
                yield form
            part = password or form
            if len(part) >= SHORTEST or (len(part) >= shortest and is_keylike(part)):
                yield part


def _words(text: str, shortest: int) -> Iterator[str]:
    """Yield a text and its words, as far as they are long enough."""
    yield from (word for word in (text, *_BETWEEN_WORDS.split(text)) if len(word) >= shortest)


def _of_document(text: str) -> Iterator[str]:
    """Yield the secrets of a variable that holds JSON, a service account for example, of which most is no secret."""
    try:
        yield from (one for one in settings_secrets(json.loads(text)) if len(one) >= SHORTEST)
    except (ValueError, RecursionError):
        yield from _words(text, SHORTEST)


def _query(url: str) -> str:
    return url.partition("?")[2].partition("#")[0]


def _is_path(value: str) -> bool:
    """Whether a value is a path; one from the root has to begin in a folder there is: keys may begin with a slash."""
    found = _PATH.match(value)
    return found is not None and (value[0] != "/" or os.path.exists(Path(found[0])))  # noqa: PTH110 - never raises


REDACTED: Final = "[redacted]"  # stands for a secret, everywhere
_SHORT: Final = 120  # characters: names, states and set phrases, which come again and again
_TEXTS_KEPT: Final = 512
_PLAIN: Final = frozenset({bool, int, float, type(None)})
_Value = TypeVar("_Value")


class Redactor:
    """Takes out of texts the secrets it knows, and whatever has the shape of one."""

    __slots__ = ("_clean", "_short")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Know these secrets."""
        forms = {form for secret in set(secrets) if secret for form in _forms(secret)}
        known = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        # no secret is in a text without a run of characters as long as the longest word of the secret that has least
        shortest = min((max(map(len, form.split(" "))) for form in known), default=0)
        self._clean = partial(_cleaned, known, re.compile(f" [^ ]{{{shortest}}}").search)
        self._short = lru_cache(maxsize=_TEXTS_KEPT)(self._clean)

    def current(self) -> Redactor:
        """Return a redactor for several texts of one moment: itself, where it learns of no more secrets."""
        return self

    def text(self, text: str) -> str:
        """Return a text without secrets: itself where there is none."""
        clean = self._short(text) if len(text) <= _SHORT else self._clean(text)
        return text if clean == text else clean

    def data(self, value: _Value) -> _Value:
        """Return texts, mappings, sequences and dataclasses without secrets; the same object where there is none."""
        if type(value) in _PLAIN:
            return value
        if isinstance(value, str):
            return self.text(value)  # type: ignore[return-value]
        if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the first is quick, and most are
            held = [(key, part) for key, part in value.items() if type(part) not in _PLAIN]
            changed = {key: new for key, old in held if (new := self.data(old)) is not old}
            return {**value, **changed} if changed else value  # type: ignore[return-value]
        if type(value) in (list, tuple):
            items = [self.data(part) for part in value]  # type: ignore[attr-defined]
            same = all(map(is_, items, value))  # type: ignore[call-overload]
            return value if same else type(value)(items)  # type: ignore[call-arg]
        if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            changes = {name: new for name, old in parts.items() if (new := self.data(old)) is not old}
            return _replaced(value, changes) if changes else value  # pyright: ignore[reportReturnType]
        return value


def _cleaned(known: tuple[str, ...], long: Callable[[str], object], text: str) -> str:
    """Return a text without these secrets, longer ones first, and without what has the shape of one."""
    clean = text
    if known and long(f" {text}") and any(map(text.__contains__, known)):
        for form in known:
            clean = clean.replace(form, REDACTED)
    return _shapeless(clean)


def _replaced(value: Any, changed: Mapping[str, Any]) -> Any:
    try:
        return replace(value, **changed)
    except Exception:  # noqa: BLE001 - a class that refuses its own fields must not let a secret pass
        return REDACTED


_blocks: Final[list[tuple[str, ...]]] = []  # what blocks of `knowing` know


class _CurrentRedactor(Redactor):
    """Knows what `redactor` does, and what is put into the environment or a block of `knowing` from then on.

    What is taken out of it again stays known: it may still come back in an answer.
    """

    __slots__ = ("_known", "_known_blocks", "_known_variables", "_secrets")

    def __init__(self, secrets: Iterable[str]) -> None:
        """Know these secrets, besides those of the environment and of blocks."""
        self._secrets = tuple(secrets)
        self._learn()

    def current(self) -> Redactor:
        """Return a redactor of all secrets that are known now."""
        # comparing takes microseconds, and looking through the environment again a hundred times as long
        if _variables() != self._known_variables or _blocks != self._known_blocks:
            self._learn()
        return self._known

    def text(self, text: str) -> str:
        """Return a text without the secrets that are known now."""
        return self.current().text(text)

    def data(self, value: _Value) -> _Value:
        """Return data without the secrets that are known now."""
        return self.current().data(value)

    def _learn(self) -> None:
        self._known_variables, self._known_blocks = dict(_variables()), list(_blocks)
        self._secrets = tuple(dict.fromkeys((*_of_process(), *self._secrets)))
        self._known = _knowing(self._secrets)


def current_redactor(*models: object) -> Redactor:
    """Return a redactor for as long as an evaluation takes: it learns of keys that are set while it goes on."""
    return _CurrentRedactor(model_secrets(*models))


def redactor(*models: object, settings: object = None) -> Redactor:
    """Return a redactor that knows the secrets of the environment as it is now, of models, judges and settings."""
    return _knowing((*_of_process(), *settings_secrets(settings), *model_secrets(*models)))


def _of_process() -> tuple[str, ...]:
    """Return the secrets of the environment and of blocks as they are now."""
    return (*_of_environment(tuple(_variables().items())), *(secret for block in tuple(_blocks) for secret in block))


def _variables() -> Mapping[Any, Any]:
    """Return the environment as it is kept, which is quick to compare."""
    found: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
    return found


@lru_cache(maxsize=2)
def _of_environment(variables: tuple[tuple[str | bytes, str | bytes], ...]) -> tuple[str, ...]:
    """Return the secrets of an environment, which is looked through again only when it has changed."""
    return tuple(environment_secrets({os.fsdecode(name): os.fsdecode(value) for name, value in variables}))


@lru_cache(maxsize=8)
def _knowing(secrets: tuple[str, ...]) -> Redactor:
    """Return a redactor: every evaluation of a suite needs one that knows the same."""
    return Redactor(secrets)


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
    present = [gate for gate in _GATES if gate in text]
    if not present:
        return text
    for gate, hints, pattern, replacement in _SHAPES:
        if gate in present and any(map(text.__contains__, hints)):
            text = pattern.sub(replacement, text)
    return text
