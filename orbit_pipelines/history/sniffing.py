"""What a file is, told from its first bytes: a name is no reason to look into one, or to leave it alone."""

import codecs
import re

from orbit_pipelines.history.json_text import begins_list, begins_object, decode_all
from orbit_pipelines.history.parquet import PARQUET_MAGIC

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

HEAD = 4096
"""How many bytes tell."""


_UNPACK = "Unpack it first, and import what is in it"
_EXPORT = "Name the file of conversations that the product's own export gave you"
_STRANGERS = tuple(
    (re.compile(magic, re.DOTALL | re.IGNORECASE), what, advice)
    for magic, what, advice in (
        (rb"PK\x03\x04|PK\x05\x06", "a zip", _UNPACK),
        (rb"\x1f\x8b", "packed with gzip", _UNPACK),
        (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
        (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
        (rb"\xfd7zXZ\x00", "packed with xz", _UNPACK),
        (rb"BZh[1-9]1AY&SY", "packed with bzip2", _UNPACK),
        (rb"\x28\xb5\x2f\xfd", "packed with zstd", _UNPACK),
        (rb"\x04\x22\x4d\x18", "packed with lz4", _UNPACK),
        (rb".{257}ustar", "a tar archive", _UNPACK),
        (rb"%PDF-", "a PDF document", _EXPORT),
        (rb"SQLite format 3\x00", "an SQLite database", _EXPORT),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document", _EXPORT),
        (rb"\{\\rtf", "an RTF document", _EXPORT),
        (rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|RIFF.{4}WEBP", "an image", _EXPORT),
        (rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", "a web page", _EXPORT),
    )
)
"""What people take for an export, by how it begins: none of it is text that could be JSON."""


def describe_stranger(head: bytes) -> tuple[str, str] | None:
    """Return what a file is that holds no data that could be read, and what to do with it; None where nothing tells."""
    return next(((what, advice) for magic, what, advice in _STRANGERS if magic.match(head)), None)


def is_zip(head: bytes) -> bool:
    """Say whether a file begins like a zip."""
    return head[:4] in ZIP_MAGIC


def holds_data(head: bytes) -> bool:
    """Say whether a file that begins with ``head`` is JSON, lines of JSON or Parquet: it could hold conversations.

    A text that only begins like a list, such as one of footnotes or of tasks, isn't.
    """
    if head.startswith(PARQUET_MAGIC):
        return True
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = head.decode("utf-16" if is_wide else "utf-8-sig", "replace").lstrip()
    if text.startswith("["):
        return text[1:].lstrip()[:1] in ("", "[", "{", "n") and begins_list(text)
    if not text.startswith("{"):
        return False
    return begins_object(text) or any(map(_is_object, text.split("\n")))


def _is_object(line: str) -> bool:
    try:
        return any(isinstance(value, dict) for value in decode_all(line))
    except (ValueError, RecursionError):
        return False
