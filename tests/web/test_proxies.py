"""A reverse proxy that signs people in: off unless configured, and believed from its own addresses only."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import HTTPConnection

from orbit_pipelines.errors import UsageError
from orbit_pipelines.web.proxies import user_named_by_proxy
from tests.web.conftest import Pages

ANN = {"x-remote-user": "ann"}
HEADER = {"web_trusted_header": "X-Remote-User"}
HERE, ELSEWHERE = ("127.0.0.1", 50_000), ("192.0.2.7", 50_000)


@pytest.fixture
def behind(new_pages: Callable[..., Pages]) -> Pages:
    """The pages behind a proxy on this machine."""
    return new_pages(**HEADER)


def test_the_header_means_nothing_unless_configured(pages: Pages) -> None:
    pages.account("ann")

    assert pages.guest(client=HERE).get("/account/", headers=ANN, follow_redirects=False).status_code == 303


def test_whom_the_proxy_names_is_signed_in_and_gets_an_account(behind: Pages) -> None:
    browser = behind.guest(client=HERE, headers=ANN)

    assert browser.get("/account/").status_code == 200
    assert browser.say("Plums?").status_code == 200
    assert behind.world.sql("select user_id from orbitpilot.session") == [("ann",)]
    assert behind.world.sql("select count(*) from orbitpilot.credential") == [(0,)]


def test_a_name_in_any_letters_is_read_as_it_is_spelled(behind: Pages) -> None:
    named = behind.guest(client=HERE, headers={"x-remote-user": "zoé".encode()})

    assert named.get("/account/").status_code == 200
    assert behind.world.sql("select user_id from orbitpilot.account") == [("zoé",)]


def test_every_request_is_its_own_headers(behind: Pages) -> None:
    behind.account("ann")
    browser = behind.guest(client=HERE)

    assert browser.get("/account/", headers=ANN).status_code == 200
    assert browser.get("/account/", headers={"x-remote-user": "bob"}).text.count("bob") >= 1
    assert browser.get("/account/").status_code == 401


def test_a_session_of_before_the_proxy_signs_nobody_in(new_pages: Callable[..., Pages]) -> None:
    pages = new_pages()
    cookies = dict(pages.person("ann").client.cookies)

    assert new_pages().guest(cookies=cookies).get("/account/").status_code == 200
    behind = new_pages(web_trusted_header="X-Remote-User").guest(client=HERE, cookies=cookies)
    assert behind.get("/account/").status_code == 401


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        (ELSEWHERE, ANN),
        (ELSEWHERE, ANN | {"x-forwarded-for": "127.0.0.1"}),
        (HERE, {"x-remote-user": ""}),
        (HERE, {"x-remote-user": "a" * 257}),
        (HERE, [("x-remote-user", "ann"), ("x-remote-user", "bob")]),
        (HERE, {"x-remote-user": "ann\u200b".encode()}),
        (("", 0), ANN),
    ],
)
def test_anybody_else_is_a_guest(behind: Pages, client: tuple[str, int], headers: Any) -> None:
    behind.account("ann")

    assert behind.guest(client=client).get("/account/", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("sent", "named"),
    [(b"ann", "ann"), ("zoé".encode(), "zoé"), ("zoé".encode("latin-1"), None), (b"ann\xff", None), (b"\xc3", None)],
)
def test_a_name_that_is_no_utf_8_names_nobody(behind: Pages, sent: bytes, named: str | None) -> None:
    # The test client would write it anew, in UTF-8.
    scope = {"type": "http", "headers": [(b"x-remote-user", sent)], "orbit.peer": "127.0.0.1"}

    assert user_named_by_proxy(HTTPConnection(scope), behind.world.settings.model_copy(update=HEADER)) == named


def test_a_visitor_of_a_believed_proxy_is_not_the_proxy(behind: Pages) -> None:
    browser = behind.guest(client=HERE)

    assert browser.get("/account/", headers=ANN | {"x-forwarded-for": "192.0.2.7"}).status_code == 200


def test_there_are_no_passwords_behind_a_proxy(behind: Pages) -> None:
    behind.account("ann")
    guest = behind.guest(client=ELSEWHERE)

    for page in ("/sign-in/", "/sign-up/"):
        assert guest.get(page).status_code == 404
        assert guest.client.post(page, data={"csrf_token": guest.token(), "user": "ann"}).status_code == 404
    assert 'href="/sign-in/"' not in guest.get("/orbitpilot/").text


def test_an_address_that_is_none_is_refused_at_the_start(new_pages: Callable[..., Pages]) -> None:
    with pytest.raises(UsageError, match=r"ORBIT_WEB_PROXIES names 'proxy\.example'"):
        new_pages(web_proxies="10.0.0.0/8, proxy.example")
