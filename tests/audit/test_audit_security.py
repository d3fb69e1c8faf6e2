"""Who is let in: the token, the cookie, the host, the origin and the form, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from support import audit_scenes
from support.audit_scenes import TOKEN

from judgeharness_integrations.audit.app import HEADERS, Guard, audit_app, cookie_name, form_token, same_text

if TYPE_CHECKING:
    from support.audit_scenes import Cases

HERE = "http://127.0.0.1:8123"
GOOD = {"origin": HERE}


@pytest.fixture
def source() -> Cases:
    return audit_scenes.every_kind()


@pytest.fixture
def client(source: Cases) -> Any:
    return audit_scenes.client(source)


def stranger(source: Cases, **options: Any) -> TestClient:
    return TestClient(audit_app(source, token=TOKEN), base_url=HERE, **options)


def post(client: TestClient, *, csrf: str | None = None, headers: dict[str, str] | None = None) -> int:
    form = {"value": "A", "csrf": form_token(TOKEN) if csrf is None else csrf}
    answer = client.post("/label?id=pair", data=form, headers=GOOD if headers is None else headers)
    return answer.status_code


@pytest.mark.parametrize("path", ["/", "/item?id=pair", "/assets/main.js", "/assets/base.css", "/none"])
def test_without_the_cookie_nothing_is_told(source: Cases, path: str) -> None:
    answer = stranger(source).get(path)
    assert answer.status_code == 403
    assert answer.text == "Open the whole address that judgeharness audit printed, with its token.\n"


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(source: Cases) -> None:
    answer = stranger(source).get("/", params={"token": TOKEN}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/start")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert cookie.startswith("judgeharness_audit_8123=")
    assert TOKEN not in cookie


def test_what_opens_the_page_once_opens_it_once(source: Cases) -> None:
    app = audit_app(source, token=TOKEN, once="once")
    first, second = (TestClient(app, base_url=HERE) for _ in range(2))
    assert first.get("/", params={"token": "once"}).status_code == 200
    assert second.get("/", params={"token": "once"}).status_code == 403
    assert second.get("/", params={"token": TOKEN}).status_code == first.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", "\u2028", TOKEN.upper()])
def test_another_token_is_refused(source: Cases, token: str) -> None:
    answer = stranger(source).get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert "another run" in answer.text


@pytest.mark.parametrize("value", ["", TOKEN, form_token(TOKEN), "x" * 64])
def test_another_cookie_is_refused(source: Cases, value: str) -> None:
    client = stranger(source, cookies={cookie_name(8123): value})
    assert client.get("/").status_code == 403
    assert post(client) == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil:8123", ""]
)
def test_a_name_that_points_here_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 403
    assert client.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 403


def test_localhost_is_let_in(client: TestClient) -> None:
    assert client.get("/", headers={"host": "localhost:8123"}).status_code == 200
    assert post(client, headers={"host": "localhost:8123", "origin": "http://localhost:8123"}) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8123"},
        {"origin": "http://localhost:8123"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
    ],
)
def test_a_label_from_another_page_is_refused_even_with_the_form_token(
    source: Cases, client: TestClient, headers: dict[str, str]
) -> None:
    assert post(client, headers=headers) == 403
    assert source.said == {}


@pytest.mark.parametrize(
    "headers", [GOOD, {"sec-fetch-site": "same-origin"}, {"origin": "null", "sec-fetch-site": "same-origin"}]
)
def test_a_label_from_this_page_is_taken(source: Cases, client: TestClient, headers: dict[str, str]) -> None:
    assert post(client, headers=headers) == 200
    assert source.said == {"pair": ("A", "")}


@pytest.mark.parametrize("csrf", ["", "x", TOKEN, "\ud800".encode(errors="replace").decode()])
def test_a_form_without_its_token_is_refused(source: Cases, client: TestClient, csrf: str) -> None:
    assert post(client, csrf=csrf) == 403
    assert source.said == {}


@pytest.mark.parametrize(
    "path", ["/", "/item?id=pair", "/item?id=none", "/assets/main.js", "/assets/../app.py", "/none"]
)
def test_every_answer_carries_the_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "access-control-allow-origin" not in answer.headers
    assert (
        client.get(path, headers={"host": "evil"}).headers["content-security-policy"].startswith("default-src 'none'")
    )


def test_the_policy_allows_nothing_inline_and_nobody_elses(client: TestClient) -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    html = client.get("/item?id=pair").text
    assert "<style" not in html
    assert " style=" not in html
    assert " onclick" not in html
    assert '<script type="module" src="/assets/main.js"></script>' in html


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    answer = client.request(method, "/label?id=pair", headers=GOOD)
    assert answer.status_code == 405
    assert "access-control-allow-methods" not in answer.headers


def test_a_preflight_of_another_page_gets_no_permission(client: TestClient) -> None:
    headers = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = client.options("/label", headers=headers)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_file_beside_the_assets_is_served(client: TestClient) -> None:
    for path in (
        "/assets/..%2fapp.py",
        "/assets/%2e%2e/security.py",
        "/assets/",
        "/assets//etc/passwd",
        "/templates/list.html",
    ):
        assert client.get(path).status_code in {404, 405}


def test_websockets_get_no_answer(source: Cases) -> None:
    async def nothing(*_: object) -> None:
        pytest.fail("the application was reached")

    import asyncio

    asyncio.run(Guard(nothing, token=TOKEN)({"type": "websocket"}, nothing, nothing))  # type: ignore[arg-type]


def test_texts_are_compared_whole() -> None:
    assert same_text("\ud800", "\ud800")
    assert not same_text("a", "ab")
