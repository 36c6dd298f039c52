"""Everything this project raises on purpose.

    OrbitError
    ├── UsageError                  the request itself is wrong; exit code 2
    │   ├── UnknownAccount
    │   ├── UnknownPlan
    │   ├── UnknownSource
    │   ├── UnknownMessage
    │   └── UnknownRecord
    ├── ImportFailed                a file that can't be imported; nothing of it was stored
    │   ├── UnknownExportFormat
    │   ├── UnreadableExport
    │   │   ├── NoConversation
    │   │   └── BrokenDocument
    │   └── UnknownAssistant
    ├── DatabaseUnavailable         no server, or none that answers
    ├── SchemaMismatch              the database's schema is older or newer than this program
    ├── InstallationMismatch        another hash key, another number of buckets
    ├── EmbeddingFailed             an embedder that errs, or answers with something unusable
    ├── BuildFailed                 a build that can't go on
    │   └── NothingStagedMayPass    publish refuses rows that break a promise
    ├── ReceiptBroken               no receipt, a changed one, one of another key, or a gap in the chain
    ├── UnreadableFile              a file that the program wrote is damaged, or was not written to its end
    ├── OutOfSpace                  the disk is full
    ├── BenchFailed                 the benchmark can't be run as asked, or something that it runs failed
    └── ServiceFailed               a supervised process that doesn't start or dies

A message says which thing, what was seen, and what to do next; never a message's text. Errors raised for the
person at the command line are printed without a trace; ``exit_code`` says what the command returns.
"""


class OrbitError(Exception):
    """The root: something this project understands and can explain."""

    exit_code = 1


class UsageError(OrbitError):
    """The request itself is wrong, whatever the state of the system."""

    exit_code = 2


class UnknownAccount(UsageError):
    """No account has that user id."""


class UnknownPlan(UsageError):
    """No plan has that key."""


class UnknownSource(UsageError):
    """No registered source has that key."""


class UnknownMessage(UsageError):
    """No message has that id in that session of that store."""


class UnknownRecord(UsageError):
    """No record has that id in that source of that store."""


class ImportFailed(OrbitError):
    """The file can't be imported; nothing of it was stored."""


class UnknownExportFormat(ImportFailed):
    """The content is none of the formats this program reads."""


class UnreadableExport(ImportFailed):
    """The file is missing, empty, cut short, or not what its format demands."""


class NoConversation(UnreadableExport):
    """The file can be read, but no conversation is in it."""


class BrokenDocument(UnreadableExport):
    """What a file holds is cut short, damaged or too large; nothing is said of what else lies in its zip."""


class UnknownAssistant(ImportFailed):
    """The export doesn't tell which of its speakers is the assistant, and nobody did."""


class DatabaseUnavailable(OrbitError):
    """No server, or none that answers."""


class SchemaMismatch(OrbitError):
    """The database's schema is older or newer than this program."""


class InstallationMismatch(OrbitError):
    """The database was built with another hash key or another number of buckets."""


class EmbeddingFailed(OrbitError):
    """The embedder errs, or answers with something unusable."""


class BuildFailed(OrbitError):
    """The build can't go on; what was published before stays in force."""


class NothingStagedMayPass(BuildFailed):
    """The publish refuses staged rows that break a promise: excluded, forgotten or renumbered."""


class ReceiptBroken(OrbitError):
    """What was given as a receipt proves nothing: it is none, was changed, is another key's, or one is missing."""


class UnreadableFile(OrbitError):
    """A file that the program wrote can't be read any more; ``path`` says which."""

    def __init__(self, path: object, seen: Exception, advice: str) -> None:
        # What a library says may quote what it read.
        super().__init__(
            f"{path} can't be read: it is damaged, or was not written to its end ({type(seen).__name__}). {advice}"
        )
        self.path = path


class OutOfSpace(OrbitError):
    """The disk is full; nothing was half done."""


class BenchFailed(OrbitError):
    """The benchmark can't be run as asked, or something that it runs failed; nothing of it is left."""


class ServiceFailed(OrbitError):
    """A supervised process doesn't start, or died."""
