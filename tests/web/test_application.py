"""What holds for every page and every form."""

import re
from collections.abc import Iterator

import pytest
from fastapi.routing import iter_route_contexts

from orbit_pipelines.web.rendering import local_page
from orbit_pipelines.web.security import CONTENT_SECURITY_POLICY
from orbit_pipelines.web.static_files import dark_by_preference, static_files, static_url
from tests.web.conftest import Pages


def routes(pages: Pages, method: str) -> Iterator[str]:
    """Yield the paths of a method."""
    for route in iter_route_contexts(pages.app.routes):
        if route.path is not None and method in (route.methods or ()) and "{" not in route.path:
            yield route.path


def test_every_form_without_its_token_is_refused(pages: Pages) -> None:
    ann = pages.person("ann")
    paths = list(routes(pages, "POST"))

    assert {path: ann.client.post(path, follow_redirects=False).status_code for path in paths} == dict.fromkeys(
        paths, 403
    )
    assert len(paths) >= 11


def test_every_page_carries_the_security_headers_and_no_script_or_style_of_its_own(pages: Pages) -> None:
    ann = pages.person("ann")
    pages.world.sql("update orbitpilot.account set is_admin = true")
    ann.say("Plums?")

    for path in [*routes(pages, "GET"), "/nowhere/"]:
        answer = ann.get(path, params={"session": "none"} if path == "/orbitpilot/session/" else {})
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY, path
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["cache-control"] == "no-store", path
        assert not re.search(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|javascript:", answer.text), path
        assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", answer.text), path


def test_every_page_has_a_title_a_heading_and_its_language(pages: Pages) -> None:
    ann = pages.person("ann")
    pages.world.sql("update orbitpilot.account set is_admin = true, locale = 'fr'")

    for path in set(routes(pages, "GET")) - {"/healthz", "/orbitpilot/thread/"}:
        text = ann.get(path, params={"session": "none"} if path == "/orbitpilot/session/" else {}).text
        assert '<html lang="fr">' in text, path
        assert text.count("<h1") == 1, path
        assert re.search(r"<title>\s*\S.* · OrbitPilot</title>", text), path
        ids = re.findall(r'\sid="([^"]+)"', text)
        assert len(ids) == len(set(ids)), path


def test_a_guest_is_led_to_sign_in_wherever_an_account_is_needed(pages: Pages) -> None:
    open_to_all = {"/", "/healthz", "/orbitpilot/", "/sign-in/", "/sign-up/"}

    for path in set(routes(pages, "GET")) - open_to_all:
        answer = pages.guest().get(path, params={"session": "x"}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"].startswith("/sign-in/?next=")) == (303, True), path


@pytest.mark.parametrize(("method", "page", "code"), [("GET", "/nowhere/", 404), ("POST", "/sign-out/", 403)])
def test_a_refusal_is_a_page_of_the_signed_in_persons_own(pages: Pages, method: str, page: str, code: int) -> None:
    ann = pages.person("ann")
    pages.world.sql("update orbitpilot.account set locale = 'fr'")

    answer = ann.client.request(method, page)

    assert answer.status_code == code
    assert '<html lang="fr">' in answer.text
    assert 'href="/account/"' in answer.text
    assert "data-dock=" in answer.text
    assert 'data-notice="remembered"' in answer.text
    assert 'data-notice="guest"' in pages.guest().client.request(method, page).text


def test_a_fault_is_a_page_and_a_log_line_without_any_text(
    pages: Pages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret plum")

    ann = pages.person("ann")
    monkeypatch.setattr("orbit_pipelines.web.memory_pages.list_blinks", fail)

    answer = ann.get("/blinks/")

    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "ZeroDivisionError at test_application.py" in caplog.text
    assert "secret" not in answer.text + caplog.text


def test_a_database_that_is_gone_is_said_to_be(pages: Pages) -> None:
    ann = pages.person("ann")
    name = pages.world.connection.info.dbname
    pages.world.sql("update pg_database set datallowconn = false where datname = %s", name)
    pages.world.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'orbit web'")

    assert ann.get("/blinks/").status_code == 503
    assert pages.guest().get("/healthz").status_code == 200
    pages.world.sql("update pg_database set datallowconn = true where datname = %s", name)
    assert ann.get("/blinks/").status_code == 200


@pytest.mark.parametrize("page", ["/orbitpilot/session/", "/orbitpilot/thread/"])
def test_an_id_that_no_text_column_can_hold_is_not_understood(pages: Pages, page: str) -> None:
    ann = pages.person("ann")

    assert ann.get(page, params={"session": "a\0b"}).status_code == 400
    assert ann.post("/blinks/remember/", {"blink_id": "a\0b"}).status_code == 400
    assert pages.guest().sign_in("a\0b").status_code == 400


def test_static_files_are_kept_for_ever_under_their_digest_only(pages: Pages) -> None:
    guest = pages.guest()

    for name in static_files():
        now, before = guest.get(static_url(name)), guest.get(f"/static/earlier/{name}")
        assert (now.status_code, before.status_code, now.content) == (200, 200, before.content)
        assert "immutable" in now.headers["cache-control"]
        assert before.headers["cache-control"] == "no-cache"
    assert guest.get("/static/x/secret").status_code == 404
    assert b'id="eye-slash"' in static_files()["icons.svg"].content


def test_dark_rules_apply_by_the_systems_preference() -> None:
    made = dark_by_preference("a{b:c}[data-bs-theme=dark]{--x:1}[data-bs-theme=dark] .form-select{--y:2}")

    assert made == "@media (prefers-color-scheme:dark){:root{--x:1}:root .form-select{--y:2}}"


@pytest.mark.parametrize("page", ["/", "/a/?b=c&d=%20#e"])
def test_a_path_is_a_page_of_this_site(page: str) -> None:
    assert local_page(page, "/x") == page


@pytest.mark.parametrize("page", [None, "", "a", "//a", "/\\a", "/a\\b", "/a\nb", "/a b", "https://a", "/\t/a"])
def test_anything_else_is_not(page: str | None) -> None:
    assert local_page(page, "/x") == "/x"
