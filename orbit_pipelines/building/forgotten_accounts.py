"""The tombstones of accounts that were forgotten whole: they stay under a keyed hash of the user id.

While the account is there, its tombstones also stand under its own name, where every way in looks for them. When the
account goes, those go with it, and nothing names the person any more; should it ever come back, the next build puts
them up again before it reads anything.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.hashing import content_hashes, derive_key
from orbit_pipelines.database.statements import statement


def hash_users(user_ids: Iterable[str], key: bytes) -> list[str]:
    """Return what accounts that were forgotten whole are known by: hex digits, in the order given."""
    hashes = content_hashes(pl.Series(list(user_ids), dtype=pl.String), derive_key(key, "forgotten account"))
    return [each.hex() for each in hashes]


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


def restore_tombstones(connection: psycopg.Connection[Any], key: bytes) -> int:
    """Put the tombstones of accounts that came back under their names again; return how many were missing.

    Looks at accounts that are newer than the oldest watermark, and at none where no account was ever forgotten whole.
    """
    users = [row[0] for row in connection.execute(statement("list_accounts_to_compare"))]
    if not users:
        return 0
    pairs = {"users": users, "hashes": hash_users(users, key)}
    row = connection.execute(statement("restore_account_tombstones"), pairs).fetchone()
    return int(row[0]) if row else 0
