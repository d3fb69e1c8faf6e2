"""One redactor: what is a secret, what is none, in which forms, and in linear time."""

from __future__ import annotations

import base64
import functools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import BaseModel, PrivateAttr, SecretStr
from support.cpu import assert_linear

from judgeharness_integrations import AnswerCase, JudgeHarness
from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, UsageError
from judgeharness_integrations.judging.execution.observing import Span
from judgeharness_integrations.judging.judge import Answer, Judgment
from judgeharness_integrations.redacting import (
    Redactor,
    current_redactor,
    environment_secrets,
    knowing,
    model_secrets,
    redacted,
    redactor,
    settings_secrets,
    without_secrets,
)

KEY = "f00dfacec0ffee99"


def test_secrets_are_redacted_and_nothing_else() -> None:
    data = {
        "api_key": "k",
        "apiKey": "k",
        "X-Api-Key": "k",
        "default_headers": {"Authorization": "Bearer k", "X-Tenant": "k"},
        "extra_headers": ["k"],
        "default_query": {"code": "k"},
        "http_auth": ["user", "k"],
        "basicAuth": {"user": "k"},
        "Authorization": "k",
        "cookies": {"session": "k"},
        "credentials": {"project": {"id": "k"}},
        "access_token": "k",
        "client_secret": "k",
        "PASSWORD": "k",
        "connection_string": "k",
        "max_tokens": 5,
        "author": "me",
        "authors": ["me"],
        "author_b": "you",
        "nested": [{"token": "k"}, {"temperature": 0.5}],
        "none": None,
        "secret": None,
        "path": Path("p"),
        "criteria": "Is it basic knowledge? Who is the bearer of it?",
    }
    shown = redacted(data)
    assert '"k"' not in json.dumps(shown)
    assert "Bearer" not in json.dumps(shown)
    kept = {name: value for name, value in shown.items() if value != "[redacted]"}
    assert kept == {
        "max_tokens": 5,
        "author": "me",
        "authors": ["me"],
        "author_b": "you",
        "nested": [{"token": "[redacted]"}, {"temperature": 0.5}],
        "none": None,
        "secret": None,
        "path": "p",
        "criteria": "Is it basic knowledge? Who is the bearer of it?",
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:k@host/v1", "https://[redacted]@host/v1"),
        ("https://user:k@k@host/v1", "https://[redacted]@host/v1"),
        ("https://host/v1?code=k&sig=k#part", "https://host/v1?code=[redacted]&sig=[redacted]#part"),
        ("sent Bearer abc.def-123", "sent Bearer [redacted]"),
        ("https://host/v1", "https://host/v1"),
    ],
)
def test_secrets_inside_texts(text: str, shown: str) -> None:
    assert without_secrets(text, {}) == shown


def test_of_a_query_in_settings_nothing_is_shown() -> None:
    shown = redacted({"base_url": "https://user:k@host/v1?tenant=k&sig=k#part"})
    assert shown == {"base_url": "https://[redacted]@host/v1?[redacted]#part"}


def test_secrets_of_a_configuration_are_found_in_any_text() -> None:
    data = {"headers": {"a": ["Basic dXNlcjpr"], "b": "short"}, "api_key": "sk-12345678", "model": "gpt-4o", "token": 7}
    assert without_secrets("key sk-12345678 or dXNlcjpr of gpt-4o, short", data) == (
        "key [redacted] or [redacted] of gpt-4o, short"
    )


def shown(text: str, *secrets: str) -> str:
    return Redactor(secrets).text(text)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        base64.b64encode(f"{KEY}".encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"an:{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"me?>:{KEY}".encode()).decode().rstrip("="),
    ],
)
def test_a_known_secret_is_found_in_base64_wherever_it_begins(form: str) -> None:
    text = shown(f"401 for {form}, sent", KEY)
    assert text.startswith("401 for ")
    assert text.endswith(", sent")
    assert "[redacted]" in text
    assert KEY not in base64.b64decode(form + "==", altchars=None).decode(errors="replace").replace(KEY, "") + text


@pytest.mark.parametrize("secret", ['pass"word/with \\ and é', "a+b/c=d&e?f%g0", "line one\nline two"])
def test_a_known_secret_is_found_as_json_and_urls_show_it(secret: str) -> None:
    for form in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")):
        assert shown(f"<{form}>", secret) == "<[redacted]>"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert shown(f"{KEY}-and-more", KEY, f"{KEY}-and-more") == "[redacted]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Incorrect API key provided: sk-proj-abcDEF123456. Try", "Incorrect API key provided: [redacted]. Try"),
        ('{"key":"line\\nsk-abcdefgh1234"}', '{"key":"line\\n[redacted]"}'),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted]"),
        ("authorization: bearer eyJhbGciOi", "authorization: bearer [redacted]"),
        ("{'Authorization': 'Basic dXNlcjpwYXNzd29yZA=='}", "{'Authorization': 'Basic [redacted]'}"),
        ("postgres://me:secret@db/x", "postgres://[redacted]@db/x"),
        ("https:\\/\\/me:secret@db", "https:\\/\\/[redacted]@db"),
        ("to=https%3A%2F%2Fme%3Asecret%40db", "to=https%3A%2F%2F[redacted]%40db"),
        ("GET /v1/models?key=abc&alt=json", "GET /v1/models?key=[redacted]&alt=json"),
        ("x-api-key: 0123456789abcdef", "x-api-key: [redacted]"),
        ('{"api_key": "0123456789abcdef"}', '{"api_key": "[redacted]"}'),
        ("ghp_0123456789abcdefABCD", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("AIza" + "Sy0-" * 9, "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.c2lnbmF0dXJl", "[redacted]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\n-----END RSA PRIVATE KEY-----", "[redacted]"),
    ],
)
def test_usual_shapes(text: str, expected: str) -> None:
    assert shown(text) == expected
    assert shown(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Bearer authentication is missing; the bearer acknowledges nothing. Bearer bonds.",
        "It is basic knowledge, and Basic arithmetic decides.",
        "task-oriented-evaluation, sk-learn, risk-free-interest-rate",
        "sha256:" + "0123456789abcdef" * 4,
        "gpt-4o-2024-08-06 of openai:gpt-4o",
        "https://example.com/search?q=cats&page=2 and me@example.com",
        '{"url":"https://a.example","mail":"me@a.example"}',
        "keyword=x; monkey=1; ?author=me&tokens=5&max_tokens=9",
        "the API key is missing: please set one",
        "-----BEGIN PRIVATE KEY----- is how it begins",
        "ghost, hf_ and npm_ are prefixes",
    ],
)
def test_ordinary_texts_stay(text: str) -> None:
    assert shown(text, KEY) is text


HOSTILE = ["://", "://a@", "://x", "eyJ", "eyJaaaaaaaaaaaa.", "Bearer ", "basic aaaa", "sk-", "%3A%2F%2F"]
HOSTILE += ["&keykeykey", "&=", "-----BEGIN PRIVATE KEY-----", "api_key: ", "a=", " ", "Bearer   ", "://?", KEY[:-1]]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_cost_linear_time(unit: str) -> None:
    every_gate = " @ % = _ - K J z 9 : earer asic sk- :// %3A%2F PRIVATE KEY- key"
    redact = Redactor([KEY, f"{KEY}{KEY}"])

    def read(length: int) -> str:
        return redact.text((unit * (length // len(unit) + 1))[:length] + every_gate)

    assert_linear(read, length=25_000)


# Where secrets are -----------------------------------------------------------------------------------------------


def test_secrets_of_the_environment() -> None:
    environment = {
        "OPENAI_API_KEY": "openai-value-0",
        "GROQ_KEY": "groq-value-012",
        "HF_TOKEN": "hugging-face-token",
        "MYSQL_PWD": "mysql-password",
        "API_KEYS": "first-of-keys,second-of-keys",
        "DATABASE_URL": "postgres://me:a-long-password@db/x",
        "HTTPS_PROXY": "http://user:short@proxy:3128",
        "SERVICE_CREDENTIALS": json.dumps({"type": "service_account", "private_key": "-----BEGIN-0123"}),
    }
    found = set(environment_secrets(environment))
    assert found == {
        *("openai-value-0", "groq-value-012", "hugging-face-token", "mysql-password"),
        *("first-of-keys,second-of-keys", "first-of-keys", "second-of-keys"),
        *("me:a-long-password", "a-long-password", "user:short", "-----BEGIN-0123"),
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/local/bin:/usr/bin"),
        ("PWD", "/home/somebody/project"),
        ("SSH_AUTH_SOCK", "/run/ssh-abcdef/agent.123"),
        ("GOOGLE_APPLICATION_CREDENTIALS", str(Path(__file__).resolve())),
        ("XAUTHORITY", "/home/somebody/.Xauthority"),
        ("OPENAI_API_KEY", "none-given"),
        ("KEYBOARD_LAYOUT_VARIANT", "some-variant-of-it"),
        ("AUTH_METHOD", "service_account_default"),
        ("TOKENIZERS_PARALLELISM", "false-false-false"),
        ("AUTHOR_OF_THIS", "Somebody With A Name"),
        ("API_KEY_FILE", "relative-path-of-it"),
        ("MONKEY_BUSINESS", "something-longer"),
    ],
)
def test_what_is_no_secret_of_the_environment(name: str, value: str) -> None:
    assert list(environment_secrets({name: value})) == []


def test_a_key_may_begin_like_a_path() -> None:
    assert set(environment_secrets({"AWS_SECRET_ACCESS_KEY": "/qX9z/abc+defghij"})) == {"/qX9z/abc+defghij"}


def test_words_in_headers_are_no_secrets_but_what_looks_like_a_key_is() -> None:
    headers = {"Accept": "application/json", "X-Gateway": "Bearer abc123def", "Authorization": "wordsandwords"}
    assert set(settings_secrets({"default_headers": headers})) == {"Bearer abc123def", "abc123def", "wordsandwords"}


class Model(BaseModel):
    """A chat model, as frameworks have them."""

    api_key: SecretStr = SecretStr("field-secret-0")
    base_url: str = "https://me:url-password-0@host/v1?sig=query-secret-0"
    max_tokens: int = 5
    default_headers: dict[str, str] = {"Authorization": "Bearer header-secret-0"}
    _extra: dict[str, str] = PrivateAttr({"token": "private-secret-0"})


@dataclass
class Judge:
    """A judge that holds its model."""

    model: Any
    name: str = "a-judge-with-a-long-name"
    itself: Any = field(default=None, repr=False)


class Slotted:
    """A client without a dictionary."""

    __slots__ = ("api_key", "never_set")

    def __init__(self) -> None:
        self.api_key = "slotted-secret-0"

    async def ask(self) -> None:
        """Answer."""


def closed_over(model: Any) -> Callable[[], Any]:
    return lambda: model


def with_defaults(model: Any) -> Callable[..., Any]:
    def judge(case: object, model: Any = model, *, other: Any = model) -> Any:
        return case, model, other

    return judge


def of_a_module(model: Any) -> Callable[[], Any]:
    """Return a function that uses a client of its module, as most do."""
    module: dict[str, Any] = {"client": model}
    exec("def judge(): return client.ask()", module)  # noqa: S102 - a module of its own
    found: Callable[[], Any] = module["judge"]
    return found


ALL = {"field-secret-0", "me:url-password-0", "url-password-0", "query-secret-0"}
ALL |= {"Bearer header-secret-0", "header-secret-0", "private-secret-0"}


@pytest.mark.parametrize(
    "hold",
    [
        Judge,
        lambda model: SimpleNamespace(bound=SimpleNamespace(bound=model)),
        lambda model: {"steps": [None, (model,)]},
        closed_over,
        with_defaults,
        of_a_module,
        lambda model: functools.partial(print, model=model),
        lambda model: functools.partial(closed_over(model)),
    ],
)
def test_secrets_that_models_hold_are_found(hold: Callable[[Any], Any]) -> None:
    held = hold(Model())
    assert set(model_secrets(held)) >= ALL
    assert not [one for one in model_secrets(held) if one not in ALL and len(one) < 12]


def test_objects_without_a_dictionary_methods_and_circles_are_looked_through() -> None:
    client = Slotted()
    judge = Judge(client.ask)
    judge.itself = judge
    assert set(model_secrets(judge)) == {"slotted-secret-0"}
    assert list(model_secrets(SimpleNamespace(lock=threading.Lock(), kind=Judge, nothing=None, name=b"bytes"))) == []


def test_each_of_many_pydantic_models_is_looked_through() -> None:
    class Client(BaseModel):
        api_key: str = ""

    class Holder(BaseModel):
        client: Client

    held = [Holder(client=Client()) for _ in range(89)]
    assert set(model_secrets([*held, Holder(client=Client(api_key="secret-of-the-90th"))])) == {"secret-of-the-90th"}


def test_no_code_of_an_object_runs() -> None:
    class Trap:
        @property
        def api_key(self) -> str:
            raise AssertionError

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    assert list(model_secrets(Trap())) == []


def test_a_large_object_is_looked_through_in_part_alone() -> None:
    deep: Any = Model()
    for _ in range(1_000):
        deep = [deep]
    assert list(model_secrets(deep)) == []


# Data, blocks, errors --------------------------------------------------------------------------------------------


def test_data_without_secrets_is_the_same_object() -> None:
    case = AnswerCase(case_id="c", output="fine", attributes={"topic": "law"})
    for value in (case, {"a": ["b", ("c", 1)]}, [case], ("x",), 3, None, frozenset({"x"})):
        assert Redactor([KEY]).data(value) is value


def test_data_is_redacted_through_and_through() -> None:
    case = AnswerCase(case_id="c", output=f"the key {KEY}", attributes={"note": KEY})
    found: Any = Redactor([KEY]).data({"case": case, "more": [(KEY,), {"a": KEY}]})
    assert found["case"].output == "the key [redacted]"
    assert found["case"].attributes == {"note": "[redacted]"}
    assert found["more"] == [("[redacted]",), {"a": "[redacted]"}]
    assert case.output == f"the key {KEY}"


@dataclass
class Strict:
    key: str

    def __post_init__(self) -> None:
        if self.key != KEY:
            raise ValueError


def test_what_cannot_be_made_without_its_secret_is_left_out_as_a_whole() -> None:
    found: Any = Redactor([KEY]).data([Strict(KEY)])
    assert found == ["[redacted]"]


def test_a_block_lets_redactors_know_and_cleans_errors() -> None:
    with pytest.raises(UsageError) as caught, knowing({"api_key": "s3cr3t"}):  # noqa: PT012 - the block is meant
        assert redactor().text("sent s3cr3t") == "sent [redacted]"
        raise UsageError("sent s3cr3t.")
    assert caught.value.args == ("sent [redacted].",)
    assert redactor().text("sent s3cr3t") == "sent s3cr3t"


def test_a_key_that_is_set_while_an_evaluation_goes_on_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LATE_API_KEY", raising=False)
    told: list[Span] = []

    class Watcher:
        def begin(self, span: Span) -> None:
            del span

        def end(self, span: Span) -> None:
            told.append(span)

    def judge(case: object) -> Judgment:
        if case == "second":
            monkeypatch.setenv("LATE_API_KEY", KEY)
        if case == "third":
            monkeypatch.delenv("LATE_API_KEY")
            raise ValueError(f"refused {KEY}")
        return Judgment(answers=(Answer(criterion="verdict", verdict="PASS", reasoning=f"sent {KEY}"),), raw=KEY)

    harness = JudgeHarness(
        perturbations=["none"],
        repetitions=1,
        aggregation_rule="majority",
        max_concurrency=1,
        max_attempts=1,
        observers=[Watcher()],
    )
    first, second, third = harness.evaluate_many(judge, ["first", "second", "third"])
    assert first.rows[0].reasoning == f"sent {KEY}"  # nobody could know
    assert (second.rows[0].reasoning, second.rows[0].raw) == ("sent [redacted]", "[redacted]")
    assert third.rows[0].error == "ValueError: refused [redacted]"
    assert KEY not in repr([span.outcome for span in told[-4:]])


def test_a_redactor_of_an_evaluation_learns_what_blocks_know_and_keeps_it() -> None:
    current = current_redactor()
    assert current.data({"said": "sent s3cr3t"}) == {"said": "sent s3cr3t"}
    with knowing({"api_key": "s3cr3t"}):
        assert current.data({"said": "sent s3cr3t"}) == {"said": "sent [redacted]"}
    assert current.text("sent s3cr3t") == "sent [redacted]"
    assert redactor().current().text("sent s3cr3t") == "sent s3cr3t"


@pytest.mark.parametrize("kind", [JudgeHarnessError, ConfigError])
def test_no_error_of_ours_shows_a_secret(kind: type[JudgeHarnessError], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_API_KEY", KEY)
    assert str(kind(f"the server said {KEY} and Bearer abc123def456.")) == (
        "the server said [redacted] and Bearer [redacted]."
    )
    assert KEY not in repr(kind(f"the server said {KEY}."))


def test_what_a_cache_keeps_under_a_prompt_is_no_secret() -> None:
    prompt = "Which is better? openai_api_key: SecretStr, headers, tokens " * 3
    held = {"cache": {(prompt, "token"): "chatcmpl-32b690867b0f456e", prompt: {"id": "chatcmpl-c03c969baa634da2"}}}
    text = "chatcmpl-32b690867b0f456e chatcmpl-c03c969baa634da2"
    assert redactor(held).text(text) == text
    tier = "a-service-of-2026-11"
    assert redactor({"token_usage": {"service": tier}}).text(tier) == tier


def test_a_mapping_that_cannot_be_walked_through_is_passed_over() -> None:
    class Pool(dict[str, object]):
        def items(self) -> Any:
            raise NotImplementedError("iteration over this class is unlikely to be threadsafe")

    assert set(model_secrets(SimpleNamespace(pool=Pool(), api_key="beside-the-pool-0"))) == {"beside-the-pool-0"}
