"""All kinds of artifacts there are, and why other tables and folders hold none.

Whoever adds a table or folder that holds what was made from sessions adds its kind here; a test walks the database and
ORBIT_HOME, and fails over one that is in neither list.
"""

from orbit_pipelines.forgetting.chunks import Chunks, EmbeddingCache
from orbit_pipelines.forgetting.kinds import ArtifactKind
from orbit_pipelines.forgetting.lineage import LineageHashes, LineageMirror, NamesInBuilds, Skips
from orbit_pipelines.forgetting.names import NamesOfAccount
from orbit_pipelines.forgetting.state import ChangeDetection, PairLedger
from orbit_pipelines.forgetting.workspaces import Workspaces

KINDS: tuple[ArtifactKind, ...] = (
    Chunks(),
    EmbeddingCache(),
    Workspaces(),
    ChangeDetection(),
    PairLedger(),
    LineageHashes(),
    Skips(),
    NamesInBuilds(),
    LineageMirror(),
    NamesOfAccount(),
)
"""The order within a stage is the order here."""

_ORIGINAL = "the person's own history; a forget leaves originals"
_ADMINISTERED = "what an administrator set"

TABLES_WITHOUT_ARTIFACTS = {
    "orbitpilot.account": _ORIGINAL,
    "orbitpilot.session": _ORIGINAL,
    "orbitpilot.session_participant": _ORIGINAL,
    "orbitpilot.message": _ORIGINAL,
    "orbitpilot.record": _ORIGINAL,
    "orbitpilot.plan": _ADMINISTERED,
    "orbitpilot.memory_source": _ADMINISTERED,
    "orbitpilot.source_plan_assignment": _ADMINISTERED,
    "orbitpilot.credential": "how the person signs in",
    "orbitpilot.sign_in": "where the person is signed in",
    "orbitpilot.attempt": "tries at the door",
    "memory.admission_rule": _ADMINISTERED,
    "memory.installation": "one row about the installation",
    "memory.recipe": "how texts are cut and embedded",
    "memory.store": "the revision that forgets raise",
    "memory.watermark": "how far builds follow each account's data",
    "memory.tombstone": "what a forget itself writes, so that nothing comes back",
    "memory.forgotten_record": "the same of records",
    "memory.account_tombstone": "the same, under a keyed hash of the user id",
    "memory.account_forgotten_record": "the same of records",
    "memory.forget": "the receipts of forgets: ids, counts and digests",
    "memory.database_role": "the names of the database's roles",
}

FOLDERS_WITHOUT_ARTIFACTS = {
    "postgres": "the embedded server's own files, which hold the tables; --physical looks into them",
    "dagster": "Dagster's configuration; its event log holds ids, counts and hashes only",
    "receipts": "the receipts of forgets as files: ids, counts and digests",
    "logs": "what the services print: ids and counts only",
}
"""Folders below ORBIT_HOME."""
