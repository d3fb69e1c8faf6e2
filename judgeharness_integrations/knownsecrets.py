"""Secrets that are known: of the environment, of settings, and of the models that judge."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final
from urllib.parse import unquote

__all__ = [
    "SHORTEST",
    "URL_USER",
    "environment_secrets",
    "is_keylike",
    "model_secrets",
    "names_secret",
    "settings_secrets",
    "without_query",
]

SHORTEST: Final = 12  # what is shorter, like `none` or `postgres`, is found in ordinary texts
_SHORTEST_OF_SETTINGS: Final = 6  # where what somebody wrote into a configuration looks like a key
_MOST: Final = 300  # objects looked at for the secrets of a judge; what holds its keys is near
_MOST_PARTS: Final = 100  # of one of them: a judge may hold a whole data set
_LONGEST_NAME: Final = 64  # characters
_INNARDS: Final = frozenset({"asyncio", "httpcore", "httpx", "logging", "ssl", "threading"})  # their keys are copies

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
                if part is None or isinstance(part, (int, float)) or (named and not certain and _is_plain(name)):
                    continue
                many, own = _holds_many(name), names_secret(name)
                ahead.append((named or many or own, certain or (own and not many), part))


@lru_cache(maxsize=2048)
def _holds_many(name: str) -> bool:
    return _MANY.search(name) is not None


def _is_plain(name: str) -> bool:
    return _PLAIN_HEADER.match(name) is not None


def _entries(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and parts of plain data."""
    if isinstance(one, Mapping):
        with suppress(Exception):  # a pool of connections, say, refuses to be walked through
            yield from ((_name(key), part) for key, part in one.items())
    elif isinstance(one, (list, tuple, set, frozenset)):
        yield from (("", part) for part in one)


def _name(key: object) -> str:
    """Return what a part of a mapping is called; the key of a cache, a whole prompt say, is no name."""
    return key if isinstance(key, str) and len(key) <= _LONGEST_NAME else ""


def _parts(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and parts of plain data, the fields of an object, and what a function is closed over."""
    if isinstance(one, (type, ModuleType, bytes, int, float)) or type(one).__module__.partition(".")[0] in _INNARDS:
        return
    if isinstance(one, partial):
        yield from (("", one.func), ("", one.args), ("", one.keywords))
    elif isinstance(one, MethodType):
        yield from (("", one.__self__), ("", one.__func__))
    elif isinstance(one, FunctionType):
        for cell in one.__closure__ or ():
            with suppress(ValueError):  # not filled yet
                yield "", cell.cell_contents
    yield from _entries(one)
    yield from _entries(getattr(one, "__dict__", None))
    slots = getattr(type(one), "__slots__", ())
    for slot in (slots,) if isinstance(slots, str) else slots:
        yield slot, getattr(one, slot, None)
    if hasattr(type(one), "__pydantic_private__"):
        yield from _entries(getattr(one, "__pydantic_private__", None))
        yield from _entries(getattr(one, "__pydantic_extra__", None))


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
