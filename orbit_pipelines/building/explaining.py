"""What a build says when the machine under it gives way: a full disk, a lost connection."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.errors import DatabaseUnavailable, OutOfSpace

# A file larger than the process may write is a full disk to whoever wants to write it.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_FORCE = "Memory is what was last published, and what was embedded is kept"


@contextmanager
def explained(connection: psycopg.Connection[Any], workspaces: Path) -> Iterator[None]:
    """Turn errors of the disk and of the connection into ones that say what to do.

    Args:
        connection: the build's.
        workspaces: where the build writes its frames.

    Raises:
        OutOfSpace: the disk of the workspaces or of the server is full.
        DatabaseUnavailable: the server ended the connection. If that came while a publish was committing, either all
            of it was published or nothing.
    """
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise OutOfSpace(
            f"The disk of the PostgreSQL server is full. {_IN_FORCE}. Free some of it, and run the build again."
        ) from error
    except psycopg.OperationalError as error:
        if not connection.broken:
            raise
        raise DatabaseUnavailable(
            f"The connection to PostgreSQL was lost during the build: {_first_line(error)}. {_IN_FORCE}. Run the build "
            "again; if it is lost again, look at the server's log and at the free space of its disk."
        ) from error
    except (OSError, pl.exceptions.ComputeError) as error:
        if not _is_lack_of_space(error):
            raise
        raise OutOfSpace(
            f"No space left for the build's files in {workspaces}. {_IN_FORCE}. Free some, or set ORBIT_HOME to "
            "another disk, and run the build again."
        ) from error


def _is_lack_of_space(error: OSError | pl.exceptions.ComputeError) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    # Polars wraps the system's error in one of its own, with its words.
    return any(os.strerror(number) in str(error) for number in _NO_SPACE)


def _first_line(error: psycopg.OperationalError) -> str:
    lines = str(error).strip().splitlines() or ["no reason given"]
    return lines[0].rstrip(".")
