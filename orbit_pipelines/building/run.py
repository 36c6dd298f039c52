"""One build, step by step: each step makes its frame in the run's workspace, and first whatever it lacks.

This is what the assets call. A step that finds its frame made doesn't make it again, so that any selection of assets
works, in one process or in several; a re-execution has a workspace of its own and so begins at extraction.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.builds import (
    DeadBuild,
    begin_build,
    bury_dead_builds,
    end_build,
    end_unchanged,
    ensure_change_partitions,
)
from orbit_pipelines.building.chunking import ChunkerSettings
from orbit_pipelines.building.chunks import make_chunks
from orbit_pipelines.building.embedding import EmbeddingOptions, embed_chunks
from orbit_pipelines.building.explaining import explained
from orbit_pipelines.building.extraction import (
    QUARANTINED,
    SOURCES,
    STORES,
    Extraction,
    extract,
    read_extraction,
)
from orbit_pipelines.building.failure_notes import failure_note
from orbit_pipelines.building.forgotten import log_forgotten, without_forgotten
from orbit_pipelines.building.hashing import key_fingerprint, load_hash_key
from orbit_pipelines.building.installation import require_hash_key
from orbit_pipelines.building.locks import die_with_client, hold_build
from orbit_pipelines.building.other_records import shape_records
from orbit_pipelines.building.pairing import pair_messages
from orbit_pipelines.building.publish import Published, publish
from orbit_pipelines.building.recipe import Recipe
from orbit_pipelines.building.scope import Scope
from orbit_pipelines.building.verdicts import judge
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.schema import require_current_schema
from orbit_pipelines.database.statements import statement
from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.errors import BuildFailed
from orbit_pipelines.history.forgotten_accounts import restore_tombstones
from orbit_pipelines.model import Mode
from orbit_pipelines.settings import Settings

_BEGAN_AGAIN = "its source changed before it could publish, so it began again"

Progress = Callable[[str, int], None]
"""Called with a step's name and how many more rows or texts it has done."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What somebody asked for: the few options a build has. ``re_embed`` implies a full build."""

    mode: Mode = Mode.INCREMENTAL
    users: tuple[str, ...] = ()
    re_embed: bool = False

    @property
    def scope(self) -> Scope:
        """Who it is for."""
        return Scope(tuple(sorted(set(self.users))))


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step made: rows, and counts worth showing. Never text."""

    rows: int
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class BuildRun:
    """One run of the pipeline over one request.

    Args:
        connection: in autocommit, as long-lived as the process's part in the run: it holds the build's lock.
        settings: of the installation.
        request: what to build.
        embedder: asked for texts that no cache knows.
        run_id: names the workspace; steps in other processes find it by this.
        dagster_run_id: of the run this build belongs to, or None outside Dagster.
        on_progress: told how far each step is.
    """

    connection: psycopg.Connection[Any]
    settings: Settings
    request: BuildRequest
    embedder: Embedder
    run_id: str
    dagster_run_id: str | None = None
    on_progress: Progress = lambda _step, _count: None
    buried: list[DeadBuild] = field(default_factory=list)
    published: Published | None = None
    _build_id: int | None = None

    @cached_property
    def recipe(self) -> Recipe:
        """What this build makes chunks by; fixed for the whole run."""
        return Recipe(self.embedder.fingerprint, self.embedder.dimensions, self.chunker.fingerprint)

    @property
    def chunker(self) -> ChunkerSettings:
        """How texts are cut."""
        return ChunkerSettings(max_characters=self.settings.chunk_characters)

    @cached_property
    def workspace(self) -> Workspace:
        """The run's private folder; it is there once the build is registered."""
        return Workspace(self.settings.workspaces / self.run_id)

    @property
    def build_id(self) -> int:
        """The build's number; the first step to ask registers it."""
        if self._build_id is None:
            with self._explained():
                die_with_client(self.connection)
                self._build_id = self._join() or self._begin()
        return self._build_id

    def _join(self) -> int | None:
        """Take part in the build another process of this run began."""
        facts = self.workspace.facts("build")
        if facts is None:
            return None
        build_id = int(facts["build_id"])
        hold_build(self.connection, build_id)
        self.connection.execute("update memory.build set seen_at = now() where build_id = %s", [build_id])
        return build_id

    def _begin(self) -> int:
        require_current_schema(self.connection)
        self.hash_key  # noqa: B018 - another key must stop the build before it begins
        self._keep_out_forgotten()
        build_id = begin_build(
            self.connection,
            mode=self.mode,
            scope=self.request.scope,
            dagster_run_id=self.dagster_run_id,
            executor=self.settings.executor,
            workspace=self.workspace.root,
        )
        try:
            with self._explained():
                # Not before its row: another build would take a folder without one for a dead build's.
                Workspace.create(self.settings.workspaces, self.run_id)
                self.buried = bury_dead_builds(self.connection, self.settings.workspaces, but=build_id)
                self.recipe.register(self.connection)
                self.workspace.finish("build", {"build_id": build_id})
        except BaseException as error:
            with suppress(psycopg.OperationalError):
                end_build(self.connection, build_id, "failed", failure_note(type(error).__name__, str(error)))
            raise
        return build_id

    def _keep_out_forgotten(self) -> None:
        """Bind what came where its tombstone couldn't see it: accounts that are here again, records put meanwhile."""
        restore_tombstones(self.connection, self.hash_key)
        self.connection.execute(statement("exclude_late_records"))

    @property
    def mode(self) -> Mode:
        """The mode that is really built."""
        return Mode.FULL if self.request.re_embed else self.request.mode

    @cached_property
    def hash_key(self) -> bytes:
        """The key of content hashes, checked against the database's fingerprint."""
        key = load_hash_key(self.settings)
        require_hash_key(self.connection, key_fingerprint(key))
        return key

    def extraction(self) -> Extraction:
        """Return the extraction of this run, taking it when there is none yet."""
        build_id = self.build_id
        done = read_extraction(self.workspace)
        if done is not None:
            return done
        with self._explained():
            extraction = extract(
                self.connection,
                self.workspace,
                mode=self.mode,
                scope=self.request.scope,
                recipe=self.recipe,
                batch_messages=self.settings.batch_messages,
                on_progress=lambda rows: self.on_progress("extraction", rows),
            )
            # What came between the first look and what was read: from here on embedding and publish find it.
            self._keep_out_forgotten()
            if extraction.is_unchanged:
                end_unchanged(self.connection, build_id, extraction.snapshot, extraction.recipe)
        return extraction

    def pairing(self) -> StepResult:
        """Form every pair and record of the extraction, and judge what stands against each."""
        return self._make("pairs", self._pair)

    def chunking(self) -> StepResult:
        """Cut what nothing stands against into chunks."""
        return self._make("chunks", self._chunk)

    def embedding(self) -> StepResult:
        """Find or make a vector for every chunk."""
        return self._make("vectors", self._embed)

    def diff_apply(self) -> Published:
        """Publish; start over from extraction, once, when others published everyone meanwhile.

        Asked again, it only tells what it did.
        """
        if self.published is None:
            with self._explained():
                self.published = self._diff_apply()
        return self.published

    def _diff_apply(self) -> Published:
        extraction = self.extraction()
        if extraction.is_unchanged:
            return Published()
        published = self._publish(extraction)
        if published.is_superseded:
            self.workspace.clear()
            self.workspace.finish("build", {"build_id": self.build_id})
            extraction = self.extraction()
            published = Published() if extraction.is_unchanged else self._publish(extraction, note=_BEGAN_AGAIN)
        if published.is_superseded:
            end_build(self.connection, self.build_id, "superseded", "its source changed before it could publish, twice")
        return published

    def _publish(self, extraction: Extraction, note: str | None = None) -> Published:
        self.embedding()
        self._require_recipe(extraction)
        ensure_change_partitions(self.connection)
        return publish(
            self.connection,
            self.workspace,
            extraction,
            recipe=self.recipe,
            build_id=self.build_id,
            cache_days=self.settings.cache_days,
            note=note,
        )

    def _make(self, frame: str, step: Callable[[Extraction], dict[str, int]]) -> StepResult:
        facts = self.workspace.facts(frame)
        if facts is None:
            extraction = self.extraction()
            with self._explained():
                facts = {"rows": 0} if extraction.is_unchanged else step(extraction)
                self.workspace.finish(frame, facts)
        counts = dict(facts)
        return StepResult(rows=counts.pop("rows"), counts=counts)

    def _pair(self, extraction: Extraction) -> dict[str, int]:
        sources = self.workspace.read_all("sources", SOURCES)
        quarantined = self.workspace.read_all("quarantined", QUARANTINED)
        counts = {"rows": 0, "left_out": 0}
        for frame, shape in (("messages", pair_messages), ("records", shape_records)):
            for part in self.workspace.parts(frame):
                judged = judge(shape(self.workspace.read(frame, part)), sources, quarantined)
                self.workspace.write("pairs", part, judged)
                log_forgotten(judged.filter("is_forgotten"))
                counts["rows"] += judged.height
                counts["left_out"] += judged.filter(pl.col("verdict").is_not_null()).height
                self.on_progress("pairing", judged.height)
        return counts

    def _chunk(self, extraction: Extraction) -> dict[str, int]:
        self.pairing()
        counts = {"rows": 0}
        for part in self.workspace.parts("pairs"):
            chunks = make_chunks(self.workspace.read("pairs", part), self.chunker, self.hash_key)
            if chunks.is_empty():
                continue
            self.workspace.write("chunks", part, chunks)
            counts["rows"] += chunks.height
            self.on_progress("chunking", chunks.height)
        return counts

    def _require_recipe(self, extraction: Extraction) -> None:
        """Refuse to go on by another recipe than the build began with: another process asks the endpoint itself."""
        if extraction.recipe != self.recipe.fingerprint:
            raise BuildFailed(
                f"Build {self.build_id} began with recipe {extraction.recipe}, and this step has "
                f"{self.recipe.fingerprint}: the settings changed meanwhile, or the embedding endpoint answers with "
                f"another number of dimensions ({self.recipe.dimensions}). Nothing was published. Run the build again."
            )

    def _embed(self, extraction: Extraction) -> dict[str, int]:
        self._require_recipe(extraction)
        self.chunking()
        options = EmbeddingOptions(
            fetch_known=extraction.is_full,
            re_embed=self.request.re_embed,
            batch_texts=self.settings.embedding_batch_size,
        )
        stores = self.workspace.read_all("stores", STORES)
        counts = {"rows": 0, "embedded": 0}
        for part in self.workspace.parts("chunks"):
            chunks = self.workspace.read("chunks", part)
            chunks = without_forgotten(self.connection, chunks, stores, extraction.snapshot)
            vectors = embed_chunks(
                self.connection,
                chunks,
                stores,
                self.embedder,
                options,
                on_progress=lambda texts: self.on_progress("embedding", texts),
            )
            self.workspace.write("vectors", part, vectors)
            counts["rows"] += vectors.height
            counts["embedded"] += vectors.filter("is_new").height
        return counts

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.connection, self.settings.workspaces)

    def close(self, error: BaseException | None = None) -> None:
        """End the process's part in the run: the build is closed if nothing published it, the workspace removed.

        A build whose connection is lost can't be closed: the next one finds it dead.
        """
        status, note = "unpublished", "the run did not include diff_apply, so nothing was published"
        if error is not None:
            status, note = "failed", failure_note(type(error).__name__, str(error))
        is_closed = error is None and self.published is not None
        try:
            if self._build_id is not None and not is_closed:
                with suppress(psycopg.OperationalError):
                    end_build(self.connection, self._build_id, status, note)
        finally:
            self.workspace.remove()


def build(run: BuildRun) -> Published:
    """Run all steps of a build in this process, and clean up whatever happens."""
    try:
        published = run.diff_apply()
    except BaseException as error:
        run.close(error)
        raise
    run.close()
    return published
