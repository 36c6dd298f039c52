"""Every road finds what is planted back, and nothing where nothing is left."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest

from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.vectors import from_wire, to_wire
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.protocol import Vectors
from orbit_pipelines.forgetting.fence import raise_fence
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.remedies import tell_found, what_to_do
from orbit_pipelines.forgetting.selection import SelectedRecord, SelectedSession, Selection
from orbit_pipelines.forgetting.snippets import read_snippets
from orbit_pipelines.forgetting.traces import Traces, read_traces, remake_traces
from orbit_pipelines.forgetting.verifying import ROADS, Verification, deepened, verify_absence, verify_now
from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.model import Store
from tests.worlds import World

ANN, BOB = Store("ann"), Store("bob")
FORGOTTEN = Selection("ann", ("orbitpilot",), (SelectedSession("orbitpilot", "s1"),))
SECRET = "The plums of the north wall are ripe."
REPLY = "Then pick them before Sunday comes."


class Gone:
    """A world that forgot Ann's first session, with what it was recognised by."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.account("ann")
        world.account("bob")
        world.say(ANN, "s1", SECRET, f"> {REPLY}")
        world.say(ANN, "s2", "A bicycle needs new brakes.", "> The shop opens at nine.")
        world.say(BOB, "s1", SECRET, "> Bob's own plums, of course.")
        world.build()
        mirror_lineage(world.connection, world.settings.lineage)
        self.snippets = read_snippets(world.connection, FORGOTTEN)
        self.traces = read_traces(world.connection, FORGOTTEN, self.snippets)
        self.scene = Scene(world.connection, world.settings, FORGOTTEN, snippets=lambda: self.snippets)
        self.kept = world.sql("select * from memory.chunk where session_id = 's1' and user_id = 'ann'")
        raise_fence(world.connection, world.settings, FORGOTTEN)
        for kind in KINDS:
            kind.purge(self.scene)
        world.settings.home.mkdir(parents=True, exist_ok=True)

    def verify(self) -> Verification:
        return verify_absence(self.scene, KINDS, self.traces, self.world.embedder)

    def found(self) -> dict[str, int]:
        return {name: each.found for name, each in self.verify().roads.items() if each.found}

    def plant_chunk(self, **columns: str) -> None:
        """Put a forgotten chunk back, under other keys where some are given."""
        world = self.world
        names = [
            row[0]
            for row in world.sql(
                "select attname from pg_attribute where attrelid = 'memory.chunk'::regclass and attnum > 0"
                " and not attisdropped order by attnum"
            )
        ]
        row = dict(zip(names, self.kept[0], strict=True)) | columns
        row["spans"] = json.dumps(row["spans"])
        marks = ", ".join(["%s"] * len(names))
        world.sql(f"insert into memory.chunk ({', '.join(names)}) values ({marks})", *row.values())


@pytest.fixture
def gone(world: World) -> Gone:
    """A world in which Ann's first session was forgotten."""
    return Gone(world)


def test_nothing_is_found_where_nothing_is_left(gone: Gone) -> None:
    gone.world.sql("analyze memory.build")
    verification = gone.verify()

    assert verification.is_passed, verification.as_json()
    assert verification.roads["rows"].looked_at > 0
    assert verification.roads["texts"].looked_at > 0
    assert verification.roads["vectors"].looked_at > 0
    assert verification.roads["mirror_files"].looked_at > 0
    assert verification.roads["planner_statistics"].looked_at > 0
    assert verification.absences["fence"].depth is Depth.UNREACHABLE
    assert verification.absences["rows"].depth is Depth.ROWS_DELETED


def test_a_road_that_cannot_be_gone_claims_nothing(gone: Gone) -> None:
    nowhere = gone.world.settings.model_copy(update={"dagster_database_url": "postgresql://localhost:1/none"})
    verification = verify_absence(Scene(gone.world.connection, nowhere, FORGOTTEN), (), gone.traces)

    assert "event_log" not in verification.absences
    assert any(each.startswith("event_log: Dagster's database can't be read") for each in verification.not_looked)


def test_a_chunk_under_its_own_key_is_found_by_its_keys(gone: Gone) -> None:
    gone.plant_chunk()

    assert gone.found() == {"rows": 1, "texts": 1, "vectors": 1}
    assert gone.verify().kinds["chunks"].found == 1


def test_a_chunk_under_another_sessions_key_is_found_by_text_and_vector(gone: Gone) -> None:
    gone.plant_chunk(session_id="s2", source_id="s2:7")

    assert gone.found() == {"texts": 1, "vectors": 1}


def test_a_vector_under_another_text_is_found(gone: Gone) -> None:
    gone.plant_chunk(session_id="s2", source_id="s2:7", content="Something else entirely.")

    assert gone.found() == {"rows": 1, "vectors": 1}


def test_a_forgotten_vector_in_a_row_that_stays_is_found(gone: Gone) -> None:
    [vector] = gone.traces.vectors
    gone.world.sql("update memory.chunk set embedding = %s::text::halfvec where source_id = 's2:0'", _as_text(vector))

    looked = gone.verify().roads["vectors"].where
    assert looked == {"memory.chunk orbitpilot/orbitpilot.chat_history/s2:0#0": 1}


def test_a_vector_that_a_model_gives_two_texts_is_both_texts_own(gone: Gone) -> None:
    class Deaf(FakeEmbedder):
        """Hears no difference."""

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            return super().embed_passages(["the same"] * len(texts))

    deaf = Deaf(384)
    gone.world.sql(
        "update memory.chunk set embedding = %s::text::halfvec where user_id = 'ann'",
        str(deaf.embed_passages([""])[0].tolist()),
    )
    traces = replace(gone.traces, vectors=tuple(to_wire(deaf.embed_passages([SECRET])).to_list()))

    assert verify_absence(gone.scene, (), traces, deaf).roads["vectors"].found == 0
    assert verify_absence(gone.scene, (), traces, FakeEmbedder(384)).roads["vectors"].found == 1
    other = verify_absence(gone.scene, (), traces, FakeEmbedder(8)).roads["vectors"]
    assert (other.found, str(other.not_looked)[:6]) == (0, "1 rows")


def test_a_forgotten_hash_on_a_row_that_stays_is_found(gone: Gone) -> None:
    [content_hash] = gone.traces.hashes
    world = gone.world
    [(kept,)] = world.sql("select content_hash from memory.chunk where source_id = 's2:0'")
    for table in ("memory.chunk", "memory.change"):
        change = f"update {table} set content_hash = %s where source_id = 's2:0'"
        world.connection.execute(change, [content_hash])
        assert {f"{table}, by hash orbitpilot/orbitpilot.chat_history/s2:0#0": 1}.items() <= gone.verify().roads[
            "rows"
        ].where.items()
        world.connection.execute(change, [kept])
        assert gone.found() == {}


def test_what_another_session_said_before_it_was_edited_is_its_own(world: World) -> None:
    world.account("ann")
    world.say(ANN, "s1", SECRET)
    [message] = world.say(ANN, "s2", SECRET)[:1]
    world.build()
    world.sql("update orbitpilot.message set content = 'A bicycle needs brakes.' where message_id = %s", message)
    world.build()
    traces = read_traces(world.connection, FORGOTTEN, read_snippets(world.connection, FORGOTTEN))
    scene = Scene(world.connection, world.settings, FORGOTTEN)
    raise_fence(world.connection, world.settings, FORGOTTEN)
    for kind in KINDS:
        kind.purge(scene)

    roads = verify_absence(scene, KINDS, traces).roads
    assert {name: each.where for name, each in roads.items() if each.found} == {}


def test_a_forgotten_hash_in_another_column_is_found(gone: Gone) -> None:
    [content_hash] = gone.traces.hashes
    gone.world.sql("create table memory.diary (mark bytea, note text)")
    gone.world.connection.execute("insert into memory.diary values (%s, null)", [content_hash])
    assert gone.found() == {"rows": 1}
    gone.world.connection.execute("update memory.diary set mark = null, note = %s", [content_hash.hex()])
    assert gone.found() == {"texts": 1}


def test_a_forgotten_vector_in_the_cache_under_a_hash_that_stays_is_found(gone: Gone) -> None:
    [vector] = gone.traces.vectors
    put = (
        "insert into memory.embedding_cache (user_id, agent_id, model, content_hash, embedding)"
        " select 'ann', 'orbitpilot', 'm', content_hash, coalesce(%s::text::halfvec, embedding)"
        "   from memory.chunk where source_id = 's2:0' on conflict do nothing"
    )
    gone.world.sql(put, None)
    assert gone.verify().roads["vectors"].found == 0
    gone.world.sql("delete from memory.embedding_cache")
    gone.world.sql(put, _as_text(vector))

    assert gone.verify().roads["vectors"].where == {"memory.embedding_cache orbitpilot/m": 1}


@pytest.mark.parametrize("how", ["another key", "a text column", "a binary column"])
def test_a_forgotten_hash_or_vector_elsewhere_in_the_mirror_is_found(gone: Gone, how: str) -> None:
    [content_hash], [vector] = gone.traces.hashes, gone.traces.vectors
    [path] = (gone.world.settings.lineage / "changes").rglob("part-*.parquet")
    rows = pl.read_parquet(path)
    is_kept = (pl.col("user_id") == "ann") & (pl.col("source_id") == "s2:0")
    column = {
        "another key": pl.when(is_kept)
        .then(pl.lit(content_hash.hex()))
        .otherwise("content_hash")
        .alias("content_hash"),
        "a text column": pl.when(is_kept).then(pl.lit(content_hash.hex())).otherwise("reason").alias("reason"),
        "a binary column": pl.when(is_kept).then(pl.lit(vector)).otherwise(None).alias("more"),
    }[how]
    rows.with_columns(column).write_parquet(path)

    assert gone.verify().roads["mirror_files"].found >= 1


def test_what_was_found_is_told_with_its_place_and_its_remedy(gone: Gone) -> None:
    gone.plant_chunk(session_id="s2", source_id="s2:7")
    absences = gone.verify().absences

    assert "1 of texts (memory.chunk orbitpilot/s2/orbitpilot.chat_history/s2:7#0)" in tell_found(absences)
    assert what_to_do(absences).startswith("memory.chunk: run orbit build")
    assert what_to_do(absences).endswith("run orbit forget again, with the same selectors")
    assert "plums" not in tell_found(absences)
    every = {name: Absence(1, Depth.ROWS_DELETED, ("memory.note 1",)) for name in (*ROADS, "bytes")}
    assert [
        name for name in every if name not in ("fence", "rows", "texts", "vectors") and name not in what_to_do(every)
    ] == []


def test_a_chunk_of_a_forgotten_record_is_found(world: World) -> None:
    world.account("ann")
    world.record(ANN, "blink.blinks", "b1", "Apricots from the market hall.")
    world.build()
    selection = Selection("ann", ("orbitpilot",), (), (SelectedRecord("orbitpilot", "blink.blinks", "b1"),))
    scene = Scene(world.connection, world.settings, selection)

    roads = verify_absence(scene, (), read_traces(world.connection, selection, frozenset())).roads

    assert {name: each.found for name, each in roads.items() if each.found} == {"fence": 1, "rows": 2, "vectors": 1}


def test_another_session_that_says_the_same_in_its_own_right_is_left_alone(world: World) -> None:
    world.account("ann")
    for session in ("s1", "s2"):
        world.say(ANN, session, SECRET, f"> {REPLY}")
    world.build()
    traces = read_traces(world.connection, FORGOTTEN, read_snippets(world.connection, FORGOTTEN))
    scene = Scene(world.connection, world.settings, FORGOTTEN)
    raise_fence(world.connection, world.settings, FORGOTTEN)
    for kind in KINDS:
        kind.purge(scene)

    verification = verify_absence(scene, KINDS, traces)
    assert verification.is_passed, verification.as_json()


def test_an_embedding_in_the_cache_is_found_by_hash_and_vector(gone: Gone) -> None:
    [content_hash], [vector] = list(gone.traces.hashes), gone.traces.vectors
    gone.world.connection.execute(
        "insert into memory.embedding_cache (user_id, agent_id, model, content_hash, embedding)"
        " select 'ann', 'orbitpilot', 'm', %s, embedding from memory.chunk where user_id = 'bob' limit 1",
        [content_hash],
    )

    assert gone.found() == {"rows": 1}
    assert gone.verify().kinds["embedding_cache"].found == 1
    gone.world.connection.execute(
        "update memory.embedding_cache set content_hash = '\\x00', embedding = %s::text::halfvec",
        [_as_text(vector)],
    )
    assert gone.found() == {"vectors": 1}


def _as_text(wire: bytes) -> str:
    return str(from_wire(pl.Series([wire], dtype=pl.Binary))[0].tolist())


def test_a_hash_in_lineage_is_found(gone: Gone) -> None:
    gone.world.sql("update memory.change set content_hash = '\\x01' where user_id = 'ann' and source_id = 's1:0'")

    assert gone.found()["rows"] > 0
    assert gone.verify().kinds["lineage"].found > 0


def test_a_table_that_nobody_knows_is_looked_at(gone: Gone) -> None:
    gone.world.sql("create table memory.diary (user_id text, agent_id text, session_id text, entry text)")
    gone.world.sql("insert into memory.diary values ('ann', 'orbitpilot', 's1', 'nothing of note')")
    assert gone.found() == {"rows": 1}
    gone.world.sql("update memory.diary set session_id = 's2', entry = %s", f"She said: {SECRET}")
    assert gone.found() == {"texts": 1}
    gone.world.sql("update memory.diary set user_id = 'bob'")
    assert gone.found() == {}


def test_a_text_in_a_note_that_is_nobodys_is_found(gone: Gone) -> None:
    gone.world.sql("update memory.build set note = %s", f"failed at: {REPLY}")

    assert gone.found()["texts"] >= 1


def test_a_text_in_json_is_found_whatever_is_escaped(world: World) -> None:
    world.account("ann")
    world.say(ANN, "s1", 'He said "prunes" and\tleft — déjà.')
    traces = Traces(read_snippets(world.connection, FORGOTTEN))
    world.sql("create table memory.diary (entry jsonb)")
    world.sql("insert into memory.diary values (%s)", json.dumps({"said": 'He said "prunes" and\tleft — déjà.'}))
    scene = Scene(world.connection, world.settings, FORGOTTEN)

    assert verify_absence(scene, (), traces).roads["texts"].where == {"memory.diary": 1}


def test_a_hash_or_text_in_the_mirror_is_found(gone: Gone) -> None:
    folder = gone.world.settings.lineage
    [path] = (folder / "changes").rglob("part-*.parquet")
    rows = pl.read_parquet(path)
    is_forgotten = (pl.col("user_id") == "ann") & (pl.col("source_id") == "s1:0")
    rows.with_columns(
        pl.when(is_forgotten).then(pl.lit("ab")).otherwise("content_hash").alias("content_hash")
    ).write_parquet(path)
    assert gone.found()["mirror_files"] >= 1
    rows.with_columns(pl.lit(SECRET).alias("reason")).write_parquet(path)
    assert gone.found()["mirror_files"] >= 1


def test_no_road_has_the_name_of_a_kind() -> None:
    assert not ROADS.keys() & {kind.name for kind in KINDS}


def test_a_piece_of_the_mirror_that_no_view_reads_is_looked_at(gone: Gone) -> None:
    left = gone.world.settings.lineage / "changes" / "month=2026-01" / "part-000099.parquet.new"
    left.parent.mkdir(parents=True)
    pl.DataFrame(
        {
            "user_id": ["ann"],
            "agent_id": ["orbitpilot"],
            "source_key": ["orbitpilot.chat_history"],
            "source_id": ["s1:0"],
            "content_hash": ["ab"],
        }
    ).write_parquet(left)

    assert gone.verify().roads["mirror_files"].where == {str(left.relative_to(gone.world.settings.lineage)): 1}


@pytest.mark.parametrize(
    "content",
    [f"x{SECRET}x".encode(), json.dumps({"said": SECRET}).encode(), b"\xff\xfe" + SECRET.encode() + b"\x00"],
)
def test_a_text_in_a_file_of_the_home_folder_is_found(gone: Gone, content: bytes) -> None:
    file = gone.world.settings.home / "logs" / "service.log"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)

    assert gone.verify().roads["files"].where == {"logs/service.log": 1}


def test_a_text_across_the_blocks_of_a_large_file_is_found(gone: Gone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbit_pipelines.forgetting.roads.files._BLOCK", 7)
    file = gone.world.settings.home / "large.log"
    file.write_bytes(b"." * 100 + SECRET.encode() + b"." * 100)

    assert gone.verify().roads["files"].where == {"large.log": 1}


@pytest.mark.parametrize("frame", ["messages", "chunks"])
def test_a_workspace_that_a_build_left_is_looked_at(gone: Gone, frame: str) -> None:
    workspace = Workspace.create(gone.world.settings.workspaces, "dead")
    rows = pl.DataFrame({"user_id": ["ann"], "agent_id": ["orbitpilot"], "session_id": ["s1"], "content": ["x"]})
    workspace.write(frame, "p", rows)

    assert gone.found() == {"workspace_files": 1}


@pytest.mark.parametrize("name", [".p.draft", "p.parquet"])
def test_a_damaged_file_of_a_workspace_is_told_as_not_looked_at_unless_a_text_is_seen_in_it(
    gone: Gone, name: str
) -> None:
    workspace = Workspace.create(gone.world.settings.workspaces, "dead")
    workspace.finish("messages")
    damaged = workspace.root / "messages" / name
    damaged.write_bytes(b"PAR1 and then nothing")

    verification = gone.verify()
    assert verification.is_passed
    assert f"workspace_files: could not be read: dead/messages/{name}" in verification.not_looked
    assert "workspace_files" not in verification.absences
    damaged.write_bytes(b"PAR1" + SECRET.encode())
    assert gone.found() == {"workspace_files": 1}


def test_a_damaged_file_of_the_mirror_is_told_as_not_looked_at(gone: Gone) -> None:
    [path] = (gone.world.settings.lineage / "changes").rglob("part-*.parquet")
    path.write_bytes(b"PAR1 and then nothing")

    told = "\n".join(gone.verify().not_looked)
    assert f"mirror_files: could not be read: {path.relative_to(gone.world.settings.lineage)}" in told


def test_a_build_that_began_behind_the_fence_is_left_alone(gone: Gone) -> None:
    workspace = Workspace.create(gone.world.settings.workspaces, "alive")
    rows = pl.DataFrame({"user_id": ["ann"], "agent_id": ["orbitpilot"], "session_id": ["s1"], "content": ["x"]})
    workspace.write("messages", "p", rows)
    gone.world.sql(
        "insert into memory.build (mode, scope, workspace) values ('incremental', '{\"bucket\": 0}', %s)",
        str(workspace.root),
    )

    assert gone.found() == {}


def test_a_text_in_the_planners_statistics_is_found(gone: Gone) -> None:
    gone.world.sql("create table memory.diary (entry text)")
    gone.world.sql("insert into memory.diary select %s from generate_series(1, 50)", SECRET)
    gone.world.sql("analyze memory.diary")
    gone.world.sql("delete from memory.diary")

    assert gone.verify().roads["planner_statistics"].where == {"diary.entry": 1}


def test_no_statistics_of_texts_or_vectors_are_gathered(gone: Gone) -> None:
    gone.world.sql("analyze memory.chunk")

    assert (
        gone.world.sql(
            "select attname from pg_stats where schemaname = 'memory' and tablename in ('chunk', 'embedding_cache')"
            " and attname in ('content', 'spans', 'embedding')"
        )
        == []
    )


def test_an_open_fence_is_found(gone: Gone) -> None:
    gone.world.sql("delete from memory.tombstone")

    assert gone.verify().roads["fence"].where == {"sessions without a tombstone": 1}


def test_a_text_in_dagsters_event_log_is_found(gone: Gone, new_database: Callable[[], str]) -> None:
    url = new_database()
    with connect(url, autocommit=True) as dagster:
        dagster.execute("create table event_logs (id int, event text)")
        dagster.execute("insert into event_logs values (1, %s)", [json.dumps({"message": f"oops: {SECRET}"})])
    settings = gone.world.settings.model_copy(update={"dagster_database_url": url})
    scene = Scene(gone.world.connection, settings, FORGOTTEN)

    assert verify_absence(scene, (), gone.traces).roads["event_log"].where == {"event_logs": 1}


def test_traces_are_made_again_from_the_originals(gone: Gone) -> None:
    world = gone.world

    again = remake_traces(world.connection, world.settings, FORGOTTEN, gone.snippets, world.embedder)

    assert (again.contents, again.hashes, again.vectors) == (
        gone.traces.contents,
        gone.traces.hashes,
        gone.traces.vectors,
    )


def test_verification_at_any_later_time_passes_and_fails_by_what_is_there(gone: Gone) -> None:
    world = gone.world
    world.build()
    assert verify_now(world.connection, world.settings, FORGOTTEN, KINDS, world.embedder).is_passed
    without = verify_now(world.connection, world.settings, FORGOTTEN, KINDS)
    assert without.is_passed
    assert any(each.startswith("vectors: no vector") for each in without.not_looked)
    gone.plant_chunk(session_id="s2", source_id="s2:7")

    assert not verify_now(world.connection, world.settings, FORGOTTEN, KINDS, world.embedder).is_passed


def test_depth_is_only_said_of_what_was_not_found() -> None:
    absences = {
        "a": Absence(0, Depth.ROWS_DELETED),
        "b": Absence(2, Depth.ROWS_DELETED),
        "c": Absence(0, Depth.ROWS_DELETED),
    }

    assert deepened(absences, ("a", "b"), Depth.VACUUMED) == {
        "a": Absence(0, Depth.VACUUMED),
        "b": absences["b"],
        "c": absences["c"],
    }
