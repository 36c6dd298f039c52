"""What a file is, told from its first bytes: a name is no reason to look into one, or to leave it alone."""

import codecs

from orbit_pipelines.history.json_text import begins_list, begins_object, decode_all
from orbit_pipelines.history.parquet import PARQUET_MAGIC

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

HEAD = 4096
"""How many bytes tell."""


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
