"""Where receipts are kept: a row each in ``memory.forget``, and a file each in the home folder for whoever asks.

The row comes first and is what counts; a file that is missing, because the disk was full or somebody removed it, is
written again with the next receipt. No file is ever overwritten: where another receipt has the name, as when an older
database was restored with the same home folder, part of the digest is added to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from orbit_pipelines.errors import UsageError
from orbit_pipelines.forgetting.receipt_keys import load_receipt_key
from orbit_pipelines.forgetting.receipts import Document, Receipt, as_receipt, digest_of, render, sign_receipt
from orbit_pipelines.lineage.mirror import mirroring, write_forgets
from orbit_pipelines.lineage.parts import replacing
from orbit_pipelines.settings import Settings

FOLDER = "receipts"
_SHOWN_OF_DIGEST = 16
_TAKE_TURNS = "lock table memory.forget in share row exclusive mode"


@dataclass(frozen=True, slots=True)
class IssuedReceipt:
    """A receipt that is kept; ``path`` is its file.

    ``beside``: another receipt's file that has the name it would have had.
    """

    number: int
    digest: str
    path: Path
    beside: Path | None = None


def issue_receipt(
    connection: psycopg.Connection[Any], settings: Settings, content: Mapping[str, Any], *, user_id: str | None
) -> IssuedReceipt:
    """Sign a receipt as the next of the chain, keep it, and have the mirror's list of forgets name it.

    Args:
        connection: in autocommit; of two that issue at once, one waits for the other.
        settings: of the installation, whose key signs.
        content: as ``receipt_content.describe_forget`` returns it.
        user_id: whose row it is; None for nobody's, when an account was forgotten whole.

    Raises:
        OrbitError: the key can't be used.
        OutOfSpace: the disk is full. The row may be there all the same.
    """
    key = load_receipt_key(settings)
    with connection.transaction():
        connection.execute(_TAKE_TURNS)
        row = connection.execute(
            "select number, digest, clock_timestamp() from memory.forget order by number desc limit 1"
        ).fetchone()
        number, previous = (row[0] + 1, row[1]) if row else (1, None)
        at = row[2] if row else _now(connection)
        document = sign_receipt(content, number=number, previous=previous, issued_at=at, key=key)
        connection.execute(
            "insert into memory.forget (number, user_id, issued_at, digest, previous, receipt)"
            " values (%s, %s, %s, %s, %s, %s)",
            [number, user_id, at, digest_of(document), previous, Jsonb(document)],
        )
    _write_missing(connection, settings, number)
    if settings.lineage.is_dir():
        with mirroring(connection):
            write_forgets(connection, settings.lineage.absolute())
    path, plain = find_file(settings, document), receipt_path(settings, number)
    return IssuedReceipt(number, digest_of(document), path, plain if plain != path else None)


def receipt_path(settings: Settings, number: int) -> Path:
    """Return where a receipt's file lies, unless another receipt's has that name."""
    return settings.home / FOLDER / f"receipt-{number:06}.json"


def find_file(settings: Settings, document: Document) -> Path:
    """Return where a receipt's file lies, or would be written."""
    return _file_of(settings, document["receipt"]["number"], digest_of(document), document["signature"])


def _file_of(settings: Settings, number: int, digest: str, signature: str) -> Path:
    plain = receipt_path(settings, number)
    if not plain.exists() or _ends_with(plain, signature):
        return plain
    return plain.with_stem(f"{plain.stem}-{digest[:_SHOWN_OF_DIGEST]}")


def _ends_with(path: Path, signature: str) -> bool:
    # No two receipts have the same, and it stands last.
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2 * len(signature)))
        return signature.encode() in file.read()


def list_receipts(connection: psycopg.Connection[Any]) -> list[Receipt]:
    """Return every receipt, oldest first."""
    rows = connection.execute("select number, receipt from memory.forget order by number").fetchall()
    return [as_receipt(document, _name(number)) for number, document in rows]


def read_receipt_of(connection: psycopg.Connection[Any], number: int) -> Document:
    """Return one receipt as its file would hold it.

    Raises:
        UsageError: no receipt has that number.
    """
    row = connection.execute("select receipt from memory.forget where number = %s", [number]).fetchone()
    if row is None:
        raise UsageError(f"There is no receipt {number}. See: orbit receipt show")
    document: Document = row[0]
    return document


def _name(number: int) -> str:
    return f"receipt {number} of the database"


def _now(connection: psycopg.Connection[Any]) -> Any:
    row = connection.execute("select clock_timestamp()").fetchone()
    return row[0] if row else None


def _write_missing(connection: psycopg.Connection[Any], settings: Settings, newest: int) -> None:
    folder = settings.home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with connection.transaction():
        connection.execute(_TAKE_TURNS)
        known = connection.execute(
            "select number, digest, receipt ->> 'signature' from memory.forget where number <= %s order by number",
            [newest],
        ).fetchall()
        for number, digest, signature in known:
            path = _file_of(settings, number, digest, signature)
            if not path.exists():
                with replacing(path) as draft:
                    draft.write_bytes(render(read_receipt_of(connection, number)))
