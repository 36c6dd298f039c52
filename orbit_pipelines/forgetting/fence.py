"""Tombstones and the store's revision: what hides everything at once, before anything is deleted.

They are committed without waiting for any lock, so that a publish that takes long delays no forget's fence. Whatever
comes after compares: builds their revision, every way in the tombstones, records their own flag.
"""

from typing import Any

import psycopg

from orbit_pipelines.building.hashing import key_fingerprint, load_hash_key
from orbit_pipelines.building.installation import require_hash_key
from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.selection import Selection
from orbit_pipelines.history.forgotten_accounts import keep_under_hash
from orbit_pipelines.settings import Settings


def raise_fence(connection: psycopg.Connection[Any], settings: Settings, selection: Selection) -> None:
    """Commit the tombstones of a selection, exclude its records, and raise the revision of its stores.

    Args:
        connection: in autocommit, outside a transaction.
        settings: where the hash key is, under which the tombstones of a whole account also stay.
        selection: not empty.
    """
    key = None
    if selection.account:
        key = load_hash_key(settings)
        require_hash_key(connection, key_fingerprint(key))
    with connection.transaction():
        for each in selection.by_name:
            connection.execute(statement("write_tombstones"), each.parameters())
            connection.execute(statement("exclude_selected_records"), each.parameters())
            if key is not None and each.account:
                keep_under_hash(connection, key, each.parameters())
        # Last, for builds lock the store's row while they fill its cache.
        for each in selection.by_name:
            connection.execute(statement("raise_forget_revision"), each.parameters())
