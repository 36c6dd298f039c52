"""Secret keys of 32 bytes, each a file in the home folder for its owner alone, made by whoever first needs it."""

import errno
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from orbit_pipelines.errors import OrbitError, OutOfSpace

KEY_BYTES = 32
KEY = re.compile(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}")
# No UTF-8 text begins with this byte, so that no message's hash is ever a derived key.
_PURPOSE = b"\xff"


def derive_key(key: bytes, purpose: str) -> bytes:
    """Return the key for one purpose, from which neither the first nor another purpose's can be told."""
    return hmac.digest(key, _PURPOSE + purpose.encode(), "sha256")


def load_key_file(path: Path, what: str, advice: str, loss: str) -> bytes:
    """Return the key in a file, and make the file if there is none.

    Of several processes that make one at once, all return the same key. A file that others may read is closed to them.

    Args:
        path: the file; 64 hex digits.
        what: the key's name in messages, such as "hash key".
        advice: what to do when the file can't be used, beside looking at its owner; goes on the sentence.
        loss: what it means that the key is gone; a sentence.

    Raises:
        OrbitError: the file is no key, or can't be read, written or closed to others.
        OutOfSpace: the disk is full.
    """
    with _explaining(path, what, advice):
        if not path.exists():
            _create_key(path)
        return _read_key(path, what, loss)


def _create_key(path: Path) -> None:
    """Make the file appear with its content, or leave the one that another process made meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # NamedTemporaryFile opens with mode 0600.
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.") as draft:
        draft.write(f"{secrets.token_hex(KEY_BYTES)}\n")
        draft.flush()
        os.fsync(draft.fileno())
        try:
            os.link(draft.name, path)
        except FileExistsError:
            return
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_key(path: Path, what: str, loss: str) -> bytes:
    with path.open(encoding="ascii", errors="replace") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            os.fchmod(file.fileno(), 0o600)
        content = file.read(1024).strip()
    if not KEY.fullmatch(content):
        raise OrbitError(
            f"{path} holds no {what}: expected {2 * KEY_BYTES} hex digits, found {len(content)} characters. {loss}"
        )
    return bytes.fromhex(content)


@contextmanager
def _explaining(path: Path, what: str, advice: str) -> Iterator[None]:
    """Turn what the file system says into what a person can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutOfSpace(f"No space left to write {path}. Free some, and run this again.") from error
        raise OrbitError(
            f"The {what} in {path} can't be used: {error.strerror}. It must be a file of your own that only you can "
            f"read; check its owner and its folder's, or {advice}."
        ) from error
