"""What a forget says when a store of artifacts gives way: which one, what was seen, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import psycopg
import pyarrow as pa

from orbit_pipelines.database.connection import discreet_message
from orbit_pipelines.errors import OrbitError, UsageError

MEND = "Mend the named fault, run the same command again, then preview; don't remove origins or corpus by hand."


BEFORE_FENCE = ("selection", "tombstones")
"""What comes before anything is deleted, by the names it has in errors."""


class ForgetFailed(OrbitError):
    """A forget stopped at one kind, named by ``store``; what it reached before is gone, the rest is untouched."""

    def __init__(self, store: str, seen: str) -> None:
        standing = (
            "Nothing was deleted" if store in BEFORE_FENCE else "The tombstones stand, so nothing of it comes back"
        )
        super().__init__(f"The forget stopped at {store}: {seen.rstrip('.')}. {standing}. {MEND}")
        self.store = store


@contextmanager
def naming(store: str) -> Iterator[None]:
    """Say at which store a fault came up, in words that quote no row.

    Raises:
        ForgetFailed: instead of the fault.
    """
    try:
        yield
    except (ForgetFailed, UsageError):
        raise
    except OrbitError as error:
        raise ForgetFailed(store, str(error)) from error
    except psycopg.Error as error:
        raise ForgetFailed(store, _said_by_server(error)) from error
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise ForgetFailed(store, f"{error.strerror or type(error).__name__}{where}") from error
    except (pl.exceptions.PolarsError, pa.ArrowException) as error:
        # Their messages may quote what they read.
        raise ForgetFailed(store, f"a file can't be read or written ({type(error).__name__})") from error


def _said_by_server(error: psycopg.Error) -> str:
    if isinstance(error, psycopg.errors.DiskFull):
        return "the disk of the PostgreSQL server is full"
    if isinstance(error, psycopg.errors.ProgramLimitExceeded):
        return "an id is longer than PostgreSQL can keep in an index, so that nothing stored has it"
    if (said := discreet_message(error)) is not None:
        return f"PostgreSQL says: {said.splitlines()[0]}"
    lines = str(error).strip().splitlines() or ["no reason given"]
    return f"the connection to PostgreSQL was lost: {lines[0]}"
