"""What a person sees when a command fails: what happened and what to do, never a stack trace or row values."""

import errno
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from orbit_pipelines.errors import OrbitError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_DISK_FULL_TEXT = os.strerror(errno.ENOSPC)


def explain(error: Exception) -> tuple[str, int]:
    """Return the message for a person, and the exit code that goes with it."""
    for each in _causes(error):
        explained = _explain_known(each)
        if explained is not None:
            return explained
    return _unexpected(error), 1


def explain_failed_run(failure: str) -> str:
    """Return what a person is told of a Dagster run's failure, given the text of its first error."""
    if _DISK_FULL_TEXT in failure:
        return f"The disk is full ({failure.splitlines()[0]}). Nothing was published. Free some, and run this again."
    return failure


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it: libraries wrap what we would know."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__


def _explain_known(error: BaseException) -> tuple[str, int] | None:
    import psycopg
    import sqlalchemy.exc
    from pydantic import ValidationError

    match error:
        case OrbitError():
            return str(error), error.exit_code
        case psycopg.errors.DiskFull():
            full = "The disk of the PostgreSQL server is full. Nothing of this was stored."
            return f"{full} Free some, and run this again.", 1
        case OSError() if error.errno in DISK_FULL:
            where = f" to write {error.filename}" if error.filename else ""
            return f"No space left on the disk{where}. Nothing was half done. Free some, and run this again.", 1
        case psycopg.OperationalError() | sqlalchemy.exc.OperationalError() if _is_connection_lost(error):
            return _connection_lost(error), 1
        case ValidationError() if error.title == "Settings":
            # Without the input: some settings are secrets.
            wrong = [f"ORBIT_{'_'.join(map(str, each['loc'])).upper()}: {each['msg']}" for each in error.errors()]
            return f"{'; '.join(wrong)}. Correct it in the environment, or unset it.", 2
        case OSError() if error.filename is not None:
            return f"{error.filename} can't be used: {error.strerror}. Check its owner and permissions.", 1
    return None


def _is_connection_lost(error: BaseException) -> bool:
    """Whether the server went away, rather than refused a statement: program limits are operational errors too."""
    import sqlalchemy.exc

    cause = error.orig if isinstance(error, sqlalchemy.exc.DBAPIError) else error
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    # libpq gives no code when nobody answers any more; 08 is a broken connection, 57P a server that stops.
    return state is None or state[:2] == "08" or state[:3] == "57P"


def _connection_lost(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or ["no reason given"]
    return (
        f"The connection to PostgreSQL was lost: {lines[0].rstrip('.')}. What was being written was rolled back. "
        "See `orbit status`, then run this again; if it is lost again, look at the free space of its disk and its log."
    )


def _unexpected(error: Exception) -> str:
    """Return which fault it was and where. Its text isn't shown: it may quote a message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"Unexpected {type(error).__name__}{where}: a fault of this program. "
        "Run it again as ORBIT_DEBUG=1 orbit … to see the trace; it may show message text."
    )


def is_pipe_closed(error: BaseException) -> bool:
    """Whether whoever read our output has gone, as `orbit … | head` does."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def be_quiet() -> None:
    """Send what is still buffered for a closed pipe nowhere, so that the interpreter's exit doesn't complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
