"""What an installation is bound to for good: the key of its content hashes."""

from typing import Any

import psycopg

from orbit_pipelines.errors import InstallationMismatch


def require_hash_key(connection: psycopg.Connection[Any], fingerprint: str) -> None:
    """Bind the database to a hash key the first time, and refuse another one ever after.

    Raises:
        InstallationMismatch: the database was built with another key.
    """
    row = connection.execute("select hash_key_fingerprint from memory.installation").fetchone()
    if row is not None and row[0] == fingerprint:
        return None
    if row is not None and row[0] is None:
        connection.execute(
            "update memory.installation set hash_key_fingerprint = %s where hash_key_fingerprint is null", [fingerprint]
        )
        return require_hash_key(connection, fingerprint)
    raise InstallationMismatch(
        f"This database was built with the hash key {row[0] if row else '?'}, but the key in use is {fingerprint}. "
        "Set ORBIT_HASH_KEY to the key of this database, or put its hash.key file back into ORBIT_HOME; "
        "with another key every text would look new."
    )
