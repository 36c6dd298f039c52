"""Keyed hashes: what tells one text from another without telling the text.

A plain hash of a short message can be guessed; one under a key that the database never sees can't. The key is
``ORBIT_HASH_KEY``, or a file in the home folder that the first build makes.
"""

import hashlib

import polars as pl

from orbit_pipelines.errors import UsageError
from orbit_pipelines.key_files import KEY, KEY_BYTES, derive_key, load_key_file
from orbit_pipelines.settings import Settings

KEY_FILE = "hash.key"
_SHA256_BLOCK_BYTES = 64


def content_hashes(texts: pl.Series, key: bytes) -> pl.Series:
    """Return the HMAC-SHA-256 of each text's UTF-8, as binary.

    Args:
        texts: exactly the strings that the embedder gets; null stays null.
        key: at most 64 bytes.
    """
    # RFC 2104 with its two keyed states copied, not made again, for every text: a third off hmac's own time.
    block = key.ljust(_SHA256_BLOCK_BYTES, b"\0")
    inner_state = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
    outer_state = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
    hashes: list[bytes | None] = []
    for text in texts.to_list():
        if text is None:
            hashes.append(None)
            continue
        inner = inner_state.copy()
        inner.update(text.encode())
        outer = outer_state.copy()
        outer.update(inner.digest())
        hashes.append(outer.digest())
    return pl.Series(texts.name, hashes, dtype=pl.Binary)


def key_fingerprint(key: bytes) -> str:
    """Return what the database keeps to recognise a key by: 16 hex digits."""
    return derive_key(key, "fingerprint").hex()[:16]


def load_hash_key(settings: Settings) -> bytes:
    """Return the installation's key, and make its file if there is none.

    Of several processes that make one at once, all return the same key. A file that others may read is closed to them.

    Raises:
        UsageError: ``ORBIT_HASH_KEY`` is no key.
        OrbitError: the file is no key, or can't be read, written or closed to others.
        OutOfSpace: the disk is full.
    """
    if settings.hash_key is not None:
        given = settings.hash_key.get_secret_value().strip()
        if not KEY.fullmatch(given):
            raise UsageError(
                f"ORBIT_HASH_KEY must be {2 * KEY_BYTES} hex digits; what is set has {len(given)} characters. "
                "Unset it to use the key in the home folder."
            )
        return bytes.fromhex(given)
    return load_key_file(
        settings.home / KEY_FILE,
        "hash key",
        advice="set ORBIT_HASH_KEY or ORBIT_HOME",
        loss="Restore it from a backup: a database that was built with another key is refused.",
    )
