"""Signing up, in and out; language, zone and password."""

from collections.abc import Callable

import pytest

from orbit_pipelines.web.passwords import set_password
from orbit_pipelines.web.signing_in import MOST_TOGETHER
from tests.web.conftest import PASSWORD, Pages

HOME = "/orbitpilot/"


def test_somebody_signs_up_out_and_in_again(pages: Pages) -> None:
    ann = pages.guest()

    made = ann.post("/sign-up/", {"user": " Ann ", "password": PASSWORD, "time_zone": "Europe/Paris"})
    inside = ann.get("/account/").status_code
    ann.post("/sign-out/")
    outside = ann.get("/account/", follow_redirects=False)
    back = ann.sign_in("ann")

    assert (made.status_code, made.headers["location"], inside) == (303, HOME, 200)
    assert (outside.status_code, outside.headers["location"]) == (303, "/sign-in/?next=%2Faccount%2F")
    assert (back.status_code, ann.get("/account/").status_code) == (303, 200)
    assert pages.world.sql("select user_id, plan_key, locale, time_zone, is_admin from orbitpilot.account") == [
        ("ann", None, "en", "Europe/Paris", False)
    ]
    [(stored,)] = pages.world.sql("select password_hash from orbitpilot.credential")
    assert stored.startswith("$argon2id$")


def test_a_sign_in_leads_to_where_somebody_wanted_to_go_on_this_site(pages: Pages) -> None:
    pages.account("ann")
    form = {"user": "ann", "password": PASSWORD}

    assert pages.guest().post("/sign-in/", {**form, "next": "/blinks/"}).headers["location"] == "/blinks/"
    assert pages.guest().post("/sign-in/", {**form, "next": "//evil.example"}).headers["location"] == HOME
    assert pages.guest().post("/sign-in/", {**form, "user": "Ann"}).status_code == 303


def test_the_session_cookie_is_signed_and_out_of_reach_of_scripts_and_other_sites(
    new_pages: Callable[..., Pages],
) -> None:
    pages = new_pages(web_https=True)
    pages.account("ann")
    browser = pages.guest(base_url="https://testserver")

    cookie = browser.sign_in("ann").headers["set-cookie"].lower()
    value = browser.client.cookies["orbit_session"]
    forged = pages.guest(base_url="https://testserver", cookies={"orbit_session": value[:-2] + "xx"})

    assert all(flag in cookie for flag in ("httponly", "samesite=lax", "secure", "path=/"))
    assert browser.get("/account/").status_code == 200
    assert forged.get("/account/", follow_redirects=False).status_code == 303
    assert "max-age" in browser.get(HOME).headers["strict-transport-security"]


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("ann", "a wrong password"),
        ("nobody", PASSWORD),
        ("bob", PASSWORD),
        ("", ""),
        ("ann", ""),
        ("ann", "é" * 2_000),
    ],
)
def test_a_wrong_name_and_a_wrong_password_are_told_alike(pages: Pages, user: str, password: str) -> None:
    pages.account("ann")
    pages.world.account("bob")

    answer = pages.guest().sign_in(user, password)

    assert answer.status_code == 401
    assert "No account has this name and this password." in answer.text
    assert not password or password not in answer.text


def test_attempts_are_limited_across_restarts_and_a_right_password_forgives_them(
    new_pages: Callable[..., Pages],
) -> None:
    pages = new_pages()
    pages.account("ann")
    pages.account("bob")
    for _ in range(MOST_TOGETHER - 1):
        assert pages.guest().sign_in("ann", "wrong").status_code == 401
    assert pages.guest().sign_in("ann").status_code == 303
    for _ in range(MOST_TOGETHER):
        assert pages.guest().sign_in("ann", "wrong").status_code == 401

    restarted = new_pages()
    refused = restarted.guest().sign_in("ann")

    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 15 * 60
    assert "Too many attempts" in refused.text
    assert restarted.guest().sign_in("bob").status_code == 303
    pages.world.sql("update orbitpilot.attempt set since = since - interval '16 minutes'")
    assert restarted.guest().sign_in("ann").status_code == 303
    assert all(len(subject) == 32 for (subject,) in pages.world.sql("select subject from orbitpilot.attempt"))


@pytest.mark.parametrize("user", ["an", "ann lee", "-ann", "änn", "a" * 65, "ann\0", ""])
def test_a_name_that_is_none_is_refused(pages: Pages, user: str) -> None:
    assert pages.guest().post("/sign-up/", {"user": user, "password": PASSWORD}).status_code == 400
    assert pages.world.sql("select count(*) from orbitpilot.account") == [(0,)]


@pytest.mark.parametrize("password", ["", "too short", "x" * 1_001])
def test_a_password_that_is_too_short_or_too_long_is_refused(pages: Pages, password: str) -> None:
    answer = pages.guest().post("/sign-up/", {"user": "ann", "password": password})

    assert answer.status_code == 400
    assert "10 to 1,000 characters" in answer.text


def test_a_name_is_given_once_even_if_only_memory_knows_it_still(pages: Pages) -> None:
    store = pages.account("ann")
    pages.world.say(store, "s1", "Plums?", "> Ripe.")
    pages.world.build()

    taken = pages.guest().post("/sign-up/", {"user": "ann", "password": PASSWORD})
    pages.world.sql("delete from orbitpilot.account")
    gone = pages.guest().post("/sign-up/", {"user": "ann", "password": PASSWORD})

    assert [taken.status_code, gone.status_code] == [400, 400]
    assert "This name is taken" in gone.text
    assert pages.world.sql("select count(*) from orbitpilot.account") == [(0,)]


def test_a_new_password_ends_every_other_session(pages: Pages) -> None:
    here, there = pages.person("ann"), pages.person("ann")
    form = {"password": PASSWORD, "new_password": "another long password"}

    wrong = here.post("/account/password/", {**form, "password": "wrong"})
    short = here.post("/account/password/", {**form, "new_password": "short"})
    assert there.get("/account/", follow_redirects=False).status_code == 200
    changed = here.post("/account/password/", form)

    assert [wrong.status_code, short.status_code, changed.status_code] == [401, 400, 303]
    assert all('data-notice="remembered"' in refused.text for refused in (wrong, short))
    assert here.get("/account/", follow_redirects=False).status_code == 200
    assert there.get("/account/", follow_redirects=False).status_code == 303
    assert pages.guest().sign_in("ann").status_code == 401
    assert pages.guest().sign_in("ann", "another long password").status_code == 303


def test_sessions_end_everywhere_when_somebody_asks_and_when_an_administrator_gives_a_password(pages: Pages) -> None:
    here, there = pages.person("ann"), pages.person("ann")

    here.post("/account/sign-out-everywhere/")
    assert [each.get("/account/", follow_redirects=False).status_code for each in (here, there)] == [303, 303]

    again = pages.person("ann")
    set_password(pages.world.connection, "ann", "another long password")
    assert again.get("/account/", follow_redirects=False).status_code == 303


def test_a_cookie_ends_with_its_account_whoever_has_the_name_next(pages: Pages) -> None:
    form = {"user": "ann", "password": PASSWORD}
    before = pages.guest()
    before.post("/sign-up/", form)
    pages.world.sql("delete from orbitpilot.account")
    after = pages.guest()
    assert after.post("/sign-up/", form).status_code == 303
    after.say("My door code is 4711.")

    assert after.get("/account/", follow_redirects=False).status_code == 200
    assert before.get("/account/", follow_redirects=False).status_code == 303
    assert "4711" not in before.get(HOME).text


def test_signing_out_ends_the_copies_of_a_cookie_and_no_other_session(pages: Pages) -> None:
    here, there = pages.person("ann"), pages.person("ann")
    copied = pages.guest(cookies={"orbit_session": here.client.cookies["orbit_session"]})
    assert copied.get("/account/", follow_redirects=False).status_code == 200

    here.post("/sign-out/")

    assert [each.get("/account/", follow_redirects=False).status_code for each in (here, copied, there)] == [
        303,
        303,
        200,
    ]


def test_a_sign_in_lasts_fourteen_days_and_goes_with_the_next(pages: Pages) -> None:
    ann = pages.person("ann")
    pages.world.sql("update orbitpilot.sign_in set began_at = began_at - interval '14 days'")

    assert ann.get("/account/", follow_redirects=False).status_code == 303
    assert pages.person("ann").get("/account/", follow_redirects=False).status_code == 200
    assert pages.world.sql("select count(*) from orbitpilot.sign_in") == [(1,)]


def test_an_account_that_is_gone_is_a_guest(pages: Pages) -> None:
    ann = pages.person("ann")
    pages.world.sql("delete from orbitpilot.account")

    assert 'data-notice="guest"' in ann.get(HOME).text


def test_language_and_zone_are_the_accounts_else_the_browsers(pages: Pages) -> None:
    ann, guest = pages.person("ann"), pages.guest()
    pages.world.say(pages.account("ann"), "s1", "Plums?")
    pages.world.sql("update orbitpilot.message set sent_at = '2026-03-01 23:30:00+00'")
    thread = "/orbitpilot/thread/?session=s1"

    assert "Se connecter" in guest.get(HOME, headers={"accept-language": "de;q=0.9, fr-CA;q=0.8, en;q=0.1"}).text
    assert "Sign in" in guest.get(HOME, headers={"accept-language": "en, fr;q=0.5"}).text
    assert "Sign in" in guest.get(HOME, headers={"accept-language": "x;q=y, zz"}).text
    guest.post("/language/", {"language": "fr"})
    assert '<html lang="fr">' in guest.get(HOME, headers={"accept-language": "en"}).text

    assert "11:30:00" in ann.get(thread).text
    ann.client.cookies["orbit_zone"] = "Asia/Tokyo"
    assert "Mar 2, 2026, 8:30:00" in ann.get(thread).text
    saved = ann.post("/account/", {"language": "fr", "time_zone": "Europe/Paris"})
    assert saved.headers["location"] == "/account/?saved=1"
    page = ann.get(thread, headers={"accept-language": "en"}).text
    assert "2 mars 2026, 00:30:00" in page
    assert 'datetime="2026-03-01T23:30:00+00:00"' in page
    assert "Ne pas mémoriser ce message" in page


@pytest.mark.parametrize("form", [{"language": "xx"}, {}, {"language": "en", "time_zone": "Mars/Olympus"}])
def test_a_language_or_a_zone_that_is_none_is_refused(pages: Pages, form: dict[str, str]) -> None:
    assert pages.person("ann").post("/account/", form).status_code == 400


def test_nobody_signs_up_where_that_is_off(new_pages: Callable[..., Pages]) -> None:
    pages = new_pages(web_sign_up=False)
    form = {"user": "ann", "password": PASSWORD}

    assert [pages.guest().get("/sign-up/").status_code, pages.guest().post("/sign-up/", form).status_code] == [404, 404]
    assert 'href="/sign-up/"' not in pages.guest().get("/sign-in/").text.partition("<main")[2]
