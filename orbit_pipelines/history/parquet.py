"""Parquet as rows, a few at a time, without the columns that no conversation needs."""

from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from orbit_pipelines.errors import BrokenDocument
from orbit_pipelines.history.json_text import LARGEST_VALUE

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

PARQUET_MAGIC = b"PAR1"

ROWS_AT_A_TIME = 256

LARGEST_BATCH = 4 * LARGEST_VALUE
"""The most bytes that so many rows may have."""

_UNWANTED = frozenset({"detoxify_moderation", "hashed_ip", "header", "openai_moderation", "tokens"})
"""Columns and fields that hold scores, or that trace the people behind a conversation: not even decoded."""


def read_parquet(name: str, file: IO[bytes]) -> Iterator[dict[str, object]]:
    """Yield the rows of a Parquet file as objects; times are datetimes.

    Args:
        name: the file's, for messages.
        file: can be read to and fro.

    Raises:
        BrokenDocument: it is damaged, or its rows are larger than any conversation.
    """
    batches = _batches(file)
    while True:
        batch = _attempt(name, lambda: next(batches, None))
        if batch is None:
            return
        if batch.nbytes > LARGEST_BATCH:
            raise BrokenDocument(
                f"{name} holds {batch.num_rows} rows of more than {LARGEST_BATCH:,} bytes, the most that they may have."
            )
        yield from _attempt(name, batch.to_pylist)


def _batches(file: IO[bytes]) -> Iterator["RecordBatch"]:
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - loading it takes longer than reading most exports

    with ParquetFile(file, buffer_size=2**16, pre_buffer=False) as parquet:
        yield from parquet.iter_batches(ROWS_AT_A_TIME, columns=_wanted_columns(parquet), use_threads=False)


def _wanted_columns(parquet: "ParquetFile") -> list[str]:
    paths = [parquet.schema.column(number).path for number in range(len(parquet.schema))]
    return [path for path in paths if not _UNWANTED.intersection(path.split("."))]


def _attempt(name: str, read: Callable[[], Any]) -> Any:
    fault = None
    try:
        return read()
    except Exception as error:  # Arrow raises many classes, and a damaged file any of them
        fault = type(error).__name__
    # Raised out here, so that no error that might show a person's words hangs on this one.
    raise BrokenDocument(
        f"{name} is a Parquet file that can't be read ({fault}): it is cut short or damaged. Download it again."
    )
