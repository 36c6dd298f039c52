"""Who may sign in, and how often they may try: counted in the database, so that no restart and no second process helps.

Names and addresses are counted by keyed digests only.
"""

import hmac
from dataclasses import dataclass

from orbit_pipelines.web.database import PostgresConnection
from orbit_pipelines.web.passwords import hash_password, verify_password
from orbit_pipelines.web.site import Site

SECONDS_SIGNED_IN = 14 * 24 * 60 * 60
"""After which somebody has to sign in again."""

MINUTES = 15
MOST_TOGETHER = 10
"""Attempts in that time at one name from one address."""

MOST_APART = 100
"""Attempts at one name from anywhere, or from one address at any name."""

MOST_SIGN_UPS = 20
"""New accounts from one address."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody whose password was right."""

    user_id: str
    sign_in_id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Nobody; ``seconds`` until it may be tried again, where there were too many attempts."""

    seconds: int | None = None


def sign_in(site: Site, name: str, password: str, address: str) -> SignedIn | Refused:
    """Return who it is, or why not: a wrong name and a wrong password are told alike."""
    counted = f"name {name.lower()}"
    together = f"{counted} from {address}"
    refusal = _too_many(site, {together: MOST_TOGETHER, counted: MOST_APART, f"from {address}": MOST_APART})
    if refusal is not None:
        return refusal
    with site.database.acting_for_nobody() as connection:
        # People write their name with a capital letter; names that were chosen on these pages have none.
        row = connection.execute(
            "select user_id, password_hash"
            "  from unnest(%s::text[]) with ordinality as wanted (name, place), orbitpilot.account_for_sign_in(name)"
            " order by place limit 1",
            [[name, name.lower()]],
        ).fetchone()
    if not verify_password(row[1] if row else None, password) or row is None:
        return Refused()
    with site.database.acting_for_nobody() as connection:
        connection.execute("select orbitpilot.forgive_attempts(%s)", [[_digest(site, together)]])
        return _begin(connection, str(row[0]), str(row[1])) or Refused()


def sign_up(
    site: Site, name: str, password: str, address: str, *, language: str, time_zone: str | None
) -> SignedIn | Refused | None:
    """Return the new account, or too many attempts; None where the name can't be had.

    Raises:
        UsageError: the password is too short or too long.
    """
    refusal = _too_many(site, {f"sign-up from {address}": MOST_SIGN_UPS})
    if refusal is not None:
        return refusal
    password_hash = hash_password(password)
    with site.database.acting_for_nobody() as connection:
        row = connection.execute(
            "select orbitpilot.sign_up(%s, %s, %s, %s)", [name, password_hash, language, time_zone]
        ).fetchone()
        return _begin(connection, name, password_hash) if row == (True,) else None


def _begin(connection: PostgresConnection, user_id: str, password_hash: str) -> SignedIn | None:
    """Begin a sign-in of whoever proved to know the password, None where it has changed since."""
    row = connection.execute(
        "select orbitpilot.begin_sign_in(%s, %s, make_interval(secs => %s))",
        [user_id, password_hash, SECONDS_SIGNED_IN],
    ).fetchone()
    return None if row is None or row[0] is None else SignedIn(user_id, str(row[0]))


def _too_many(site: Site, limits: dict[str, int]) -> Refused | None:
    """Count an attempt at each subject, and return when to come back if one is over its limit."""
    with site.database.acting_for_nobody() as connection:
        counts = connection.execute(
            "select attempts, seconds_left from orbitpilot.count_attempts(%s, make_interval(mins => %s))",
            [[_digest(site, subject) for subject in limits], MINUTES],
        ).fetchall()
    waits = [seconds for (attempts, seconds), most in zip(counts, limits.values(), strict=True) if attempts > most]
    return Refused(max(1, *waits)) if waits else None


def _digest(site: Site, subject: str) -> bytes:
    return hmac.digest(site.key, subject.encode("utf-8", "replace"), "sha256")
