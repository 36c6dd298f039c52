"""Accounts: who has a history here, and on which plan."""

from typing import Any

import psycopg

from orbit_pipelines.errors import UnknownAccount
from orbit_pipelines.sources.administration import require_plan


def create_account(
    conn: psycopg.Connection[Any], user_id: str, *, plan_key: str | None = None, locale: str = "en"
) -> bool:
    """Make an account, and return whether it is new; one that exists stays as it is.

    Args:
        conn: commits are the caller's.
        user_id: the person's id, any text.
        plan_key: None for whatever plan is the default one.
        locale: the language of the person's pages.

    Raises:
        UnknownPlan: no plan has that key.
    """
    if plan_key is not None:
        require_plan(conn, plan_key)
    created = conn.execute(
        "insert into orbitpilot.account (user_id, plan_key, locale) values (%s, %s, %s) on conflict do nothing",
        (user_id, plan_key, locale),
    )
    return created.rowcount > 0


def require_account(conn: psycopg.Connection[Any], user_id: str) -> None:
    """Make sure that an account exists, and keep it from being deleted until the transaction ends.

    Raises:
        UnknownAccount: it doesn't.
    """
    found = conn.execute("select from orbitpilot.account where user_id = %s for key share", (user_id,))
    if found.rowcount == 0:
        raise _unknown(user_id)


def set_plan(conn: psycopg.Connection[Any], user_id: str, plan_key: str | None) -> bool:
    """Put an account on a plan, None for the default one, and return whether that changed anything.

    Raises:
        UnknownAccount: nobody has that user id.
        UnknownPlan: no plan has that key.
    """
    require_account(conn, user_id)
    if plan_key is not None:
        require_plan(conn, plan_key)
    changed = conn.execute(
        "update orbitpilot.account set plan_key = %(plan_key)s"
        " where user_id = %(user_id)s and plan_key is distinct from %(plan_key)s",
        {"user_id": user_id, "plan_key": plan_key},
    )
    return changed.rowcount > 0


def delete_account(conn: psycopg.Connection[Any], user_id: str) -> None:
    """Delete an account with its whole history; the next build takes it out of memory.

    The pair ledger stays: it holds no text, and its numbers are never given again.

    Raises:
        UnknownAccount: nobody has that user id.
    """
    deleted = conn.execute("delete from orbitpilot.account where user_id = %s", (user_id,))
    if deleted.rowcount == 0:
        raise _unknown(user_id)


def _unknown(user_id: str) -> UnknownAccount:
    return UnknownAccount(
        f"There is no account {user_id!r}. `orbit import … --user {user_id} --create-user` makes one on the default"
        f" plan, and so does `orbit account add {user_id}`."
    )
