"""What a failed build's row says of it: what happened and what to do, for whoever asks later how memory stands.

The row outlives the build and is read by many, so that it keeps the words of those errors only whose messages are made
of counts, names of settings, folders and hosts, and advice. Of any other error its name is enough: what a library or
the server says may quote a row.
"""

from orbit_pipelines.errors import (
    BuildFailed,
    DatabaseUnavailable,
    EmbeddingFailed,
    InstallationMismatch,
    NothingStagedMayPass,
    OutOfSpace,
    SchemaMismatch,
    UnreadableFile,
)

SEE_RUN = "see the Dagster run"
"""How a note ends that has no advice of its own."""

_KEPT = {
    error.__name__
    for error in (
        BuildFailed,
        EmbeddingFailed,
        InstallationMismatch,
        NothingStagedMayPass,
        OutOfSpace,
        SchemaMismatch,
        UnreadableFile,
    )
}
# The server's own words are left out: they name whom it knows.
_SAID_INSTEAD = {
    DatabaseUnavailable.__name__: "The connection to PostgreSQL was lost. Run the build again; if it is lost again, "
    "look at the server's log and at the free space of its disk."
}


def failure_note(name: str, message: str) -> str:
    """Return what a build's row keeps of an error.

    Args:
        name: of the error's class, or what else ended the build, in words.
        message: the error's own.
    """
    said = message.strip() if name in _KEPT else _SAID_INSTEAD.get(name)
    return f"{name}: {said or SEE_RUN}"


def has_advice(note: str | None) -> bool:
    """Whether a failed build's note says by itself what to do."""
    return note is not None and not note.endswith(SEE_RUN)
