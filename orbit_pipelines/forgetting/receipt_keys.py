"""The key that signs receipts, and how its public half is given to whoever checks one."""

import re
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from orbit_pipelines.errors import UsageError
from orbit_pipelines.key_files import load_key_file
from orbit_pipelines.settings import Settings

KEY_FILE = "receipt.key"
_HEX = re.compile(r"[0-9a-fA-F]{64}")


def load_receipt_key(settings: Settings) -> Ed25519PrivateKey:
    """Return the key that signs this installation's receipts, and make its file if there is none.

    Raises:
        OrbitError: the file is no key, or can't be read, written or closed to others.
        OutOfSpace: the disk is full.
    """
    seed = load_key_file(
        settings.home / KEY_FILE,
        "receipt key",
        advice="set ORBIT_HOME",
        loss="Restore it from a backup, or move it away: a new one is made, and receipts tell which key signed them.",
    )
    return Ed25519PrivateKey.from_private_bytes(seed)


def public_hex(key: Ed25519PrivateKey | Ed25519PublicKey) -> str:
    """Return a public key as receipts name it: 64 hex digits."""
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    return public.public_bytes_raw().hex()


def public_pem(key: Ed25519PrivateKey) -> str:
    """Return the public half as other programs (openssl) read it."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def parse_public_key(given: str) -> str:
    """Return the public key that somebody names, in hex.

    Args:
        given: 64 hex digits, or the path of a file with those or with PEM.

    Raises:
        UsageError: it is neither.
    """
    if _HEX.fullmatch(given):
        return given.lower()
    try:
        content = Path(given).read_bytes()[:10_000]
    except OSError as error:
        raise UsageError(
            f"{given} is no public key, and no file that can be read ({error.strerror}). Give 64 hex digits or a file: "
            "orbit receipt key > FILE"
        ) from None
    text = content.decode("ascii", errors="replace").strip()
    if _HEX.fullmatch(text):
        return text.lower()
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{given} holds no Ed25519 public key. Make the file by: orbit receipt key > FILE")
    return public_hex(key)
