"""The tombstones of accounts that were forgotten whole: they stay under a keyed hash of the user id.

While the account is there, its tombstones also stand under its own name, where every way in looks for them. When the
account goes, those go with it, and nothing names the person any more; should it ever come back, imports and builds put
them up again before they read anything.
"""

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.key_files import derive_key


def hash_users(user_ids: Iterable[str], key: bytes) -> list[str]:
    """Return what accounts that were forgotten whole are known by: hex digits, in the order given."""
    of_accounts = derive_key(key, "forgotten account")
    return [hmac.digest(of_accounts, user_id.encode(), "sha256").hex() for user_id in user_ids]


def keep_under_hash(connection: psycopg.Connection[Any], key: bytes, selection: Mapping[str, Any]) -> None:
    """Keep the tombstones of a whole account, its sessions' and its records', where they don't name it.

    Args:
        connection: in the transaction that has written them under the account's name.
        key: of hashes.
        selection: the account's, as parameters of statements.
    """
    [user_hash] = hash_users([selection["user_id"]], key)
    for name in ("write_account_tombstones", "write_account_forgotten_records"):
        connection.execute(statement(name), {**selection, "user_hash": user_hash})


def restore_tombstones_of(connection: psycopg.Connection[Any], key: bytes, user_ids: Iterable[str]) -> int:
    """Put the tombstones of accounts that may have come back under their names again; return how many were missing."""
    users = list(user_ids)
    asked = {"users": users, "hashes": hash_users(users, key)}
    row = connection.execute(statement("restore_account_tombstones"), asked).fetchone()
    return int(row[0]) if row else 0


def restore_tombstones(connection: psycopg.Connection[Any], key: bytes) -> int:
    """Do so of every account that is newer than the oldest watermark; of none where none was ever forgotten whole."""
    users = [row[0] for row in connection.execute(statement("list_accounts_to_compare"))]
    return restore_tombstones_of(connection, key, users) if users else 0
