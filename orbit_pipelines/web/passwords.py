"""Passwords: hashed by argon2, compared in the same time whether the account exists or not."""

from threading import Semaphore
from typing import Any

import psycopg
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from orbit_pipelines.errors import UsageError
from orbit_pipelines.history.accounts import require_account

SHORTEST, LONGEST = 10, 1_000
"""Characters."""

_HASHER = PasswordHasher()
# Each takes 64 MiB while it lasts.
_AT_ONCE = Semaphore(4)
_NOBODYS = _HASHER.hash("nobody's password")


def hash_password(password: str) -> str:
    """Return what is stored of a password.

    Raises:
        UsageError: it is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"A password has {SHORTEST} to {LONGEST:,} characters; this has {len(password):,}.")
    with _AT_ONCE:
        return _HASHER.hash(password)


def verify_password(password_hash: str | None, password: str) -> bool:
    """Whether a password is the one of a hash; no hash takes as long, and is nobody's."""
    with _AT_ONCE:
        try:
            _HASHER.verify(password_hash or _NOBODYS, password[: LONGEST + 1])
        except (VerifyMismatchError, VerificationError, InvalidHashError):
            return False
    return password_hash is not None


def set_password(connection: psycopg.Connection[Any], user_id: str, password: str) -> None:
    """Give an account a password, and end whatever sessions it has; for whoever administers the database.

    Raises:
        UnknownAccount: nobody has that user id.
        UsageError: the password is too short or too long.
    """
    password_hash = hash_password(password)
    require_account(connection, user_id)
    connection.execute(
        "insert into orbitpilot.credential (user_id, password_hash) values (%s, %s)"
        " on conflict (user_id) do update set password_hash = excluded.password_hash, changed_at = now()",
        [user_id, password_hash],
    )
    connection.execute("delete from orbitpilot.sign_in where user_id = %s", [user_id])


def set_administrator(connection: psycopg.Connection[Any], user_id: str, *, is_admin: bool) -> bool:
    """Let an account administer sources and plans on the pages, or no longer; return whether that changed anything.

    Raises:
        UnknownAccount: nobody has that user id.
    """
    require_account(connection, user_id)
    changed = connection.execute(
        "update orbitpilot.account set is_admin = %(is_admin)s"
        " where user_id = %(user_id)s and is_admin <> %(is_admin)s",
        {"user_id": user_id, "is_admin": is_admin},
    )
    return changed.rowcount > 0
