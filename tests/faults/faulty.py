"""What the tests of faults share: a history that keeps changing, builds that die, and what must hold afterwards."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from orbit_pipelines.building.locks import is_alive
from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.building.status import MemoryStatus, read_memory_status
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.protocol import Vectors
from orbit_pipelines.lineage.replay import replay_differences
from orbit_pipelines.model import Mode, Store
from orbit_pipelines.settings import Settings
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.worlds import World

ANN, OTHER, BOB = Store("ann"), Store("ann", "other"), Store("bob")
STORES = (ANN, OTHER, BOB)
PATIENCE = 60
"""Seconds after which something that should have happened is taken for never happening."""

# ---------------------------------------------------------------- a history


def populate(world: World, pairs: int = 5) -> None:
    """Give two people three stores with sessions, a record each, exclusions; cut small, so that builds have parts."""
    world.settings = world.settings.model_copy(update={"chunk_characters": 120, "batch_messages": 25})
    for user in ("ann", "bob"):
        world.account(user)
    for store in STORES:
        for session in ("s", "t"):
            turns = [
                turn
                for number in range(pairs)
                for turn in (f"Question {number} of {store.agent_id}. " * (1 + number % 5), f"> Answer {number}.")
            ]
            ids = world.say(store, session, *turns)
            world.remember(store, session, ids[2], remembered=False)
        world.record(store, "profile.facts", "fact", f"A fact of {store.user_id}.")


def say_much(world: World) -> None:
    """Add a session that makes several hundred chunks."""
    world.say(BOB, "much", *(f"Much to say, {number}: " + f"more of {number}, " * 200 for number in range(25)))


def change(world: World, random: Random) -> None:
    """Change a handful of things, of every kind that builds follow."""
    for kind in random.sample(sorted(CHANGES), 3):
        CHANGES[kind](world, random)
    store = random.choice(STORES)
    world.say(store, "s", f"Something new, {random.random()}.", "> Indeed.")


def _pick(world: World, random: Random, role: str = "user") -> tuple[Any, ...]:
    rows = world.sql(
        "select user_id, agent_id, session_id, message_id from orbitpilot.message where role = %s order by 1, 2, 3, 4",
        role,
    )
    return random.choice(rows)


def update_message(world: World, key: Sequence[Any], assignment: str, *values: Any) -> None:
    """Change columns of one message."""
    world.sql(
        f"update orbitpilot.message set {assignment} where (user_id, agent_id, session_id, message_id)"
        " = (%s, %s, %s, %s)",
        *values,
        *key,
    )


def toggle(world: World, random: Random) -> None:
    """Set or lift a message's flag."""
    update_message(world, _pick(world, random), "not_remembered = not not_remembered")


def edit(world: World, random: Random) -> None:
    """Give a message another text."""
    update_message(world, _pick(world, random), "content = %s", f"Edited, {random.random()}.")


def switch_branch(world: World, random: Random) -> None:
    """Take a message out of its branch, or back in."""
    update_message(world, _pick(world, random), "is_active = not is_active")


def delete(world: World, random: Random) -> None:
    """Delete a message."""
    key = _pick(world, random, random.choice(["user", "assistant"]))
    world.sql(
        "delete from orbitpilot.message where (user_id, agent_id, session_id, message_id) = (%s, %s, %s, %s)", *key
    )


def exclude_record(world: World, random: Random) -> None:
    """Set or lift a record's flag."""
    user = random.choice(["ann", "bob"])
    world.sql("update orbitpilot.record set is_excluded = not is_excluded where user_id = %s", user)


def change_cap(world: World, random: Random) -> None:
    """Crowd chat history out of the plan, or let it back in."""
    world.sql("update orbitpilot.plan set included_sources = 7 - included_sources")


def forget(world: World, random: Random) -> None:
    """Forget a session the way a forget will: its store's revision is raised, its tombstone written."""
    store, session = random.choice(STORES), f"doomed-{random.randrange(4)}"
    world.say(store, session, f"Private, {random.random()}.", "> Understood.")
    with world.connection.transaction():
        world.sql(
            "insert into memory.store (user_id, agent_id, forget_revision) values (%s, %s, 1)"
            " on conflict (user_id, agent_id) do update set forget_revision = store.forget_revision + 1",
            store.user_id,
            store.agent_id,
        )
        entomb(world, store, session)


def entomb(world: World, store: Store, session: str) -> None:
    """Write a session's tombstone."""
    world.sql(
        "insert into memory.tombstone (user_id, agent_id, session_id) values (%s, %s, %s) on conflict do nothing",
        store.user_id,
        store.agent_id,
        session,
    )


CHANGES: dict[str, Callable[[World, Random], None]] = {
    "toggle": toggle,
    "edit": edit,
    "switch_branch": switch_branch,
    "delete": delete,
    "exclude_record": exclude_record,
    "change_cap": change_cap,
    "forget": forget,
}

# ---------------------------------------------------------------- builds that something happens to


class Exchanges:
    """Counts what a connection says to the server and hears back, and does something at one of these moments."""

    def __init__(self, connection: psycopg.Connection[Any], moment: int, happen: Callable[[], None]) -> None:
        self.count = 0
        self._moment = moment
        self._happen = happen
        self._wait = connection.wait
        setattr(connection, "wait", self._wait_counted)  # noqa: B010

    def _wait_counted(self, *arguments: Any, **options: Any) -> Any:
        self.tick()
        answer = self._wait(*arguments, **options)
        self.tick()
        return answer

    def tick(self) -> None:
        """Let one moment pass."""
        self.count += 1
        if self.count == self._moment:
            self._happen()

    def postpone(self) -> None:
        """Have it happen at the next moment."""
        self._moment = self.count + 1

    @property
    def has_happened(self) -> bool:
        """Whether the moment came."""
        return 0 < self._moment <= self.count


def count_moments(run: BuildRun) -> int:
    """Build, and return how many moments that took."""
    exchanges = Exchanges(run.connection, 0, lambda: None)
    build(run)
    run.connection.close()
    return exchanges.count


STEPS = ("begun", "extraction", "pairing", "chunking", "embedding", "published")


@dataclass(frozen=True)
class Orders:
    """What a build in a process of its own is to do beside building.

    ``fatal_moment``: kill itself with SIGKILL at its n-th exchange with the server or touch of a workspace file, before
    or after it. ``stops``: say each step's end on the pipe, and wait there until told to go on. ``seconds_a_text``: how
    slow its embedder is. ``file_bytes``: the most a file of its may hold.
    """

    fatal_moment: int | None = None
    stops: bool = False
    seconds_a_text: float = 0.0
    file_bytes: int | None = None


class SlowEmbedder(FakeEmbedder):
    """Takes its time."""

    def __init__(self, seconds_a_text: float) -> None:
        super().__init__(dimensions=8)
        self.seconds_a_text = seconds_a_text

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed, slowly."""
        time.sleep(self.seconds_a_text * len(texts))
        return super().embed_passages(texts)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def build_in_this_process(
    url: str, settings: Settings, request: BuildRequest, run_id: str, orders: Orders, pipe: Pipe
) -> None:
    """Build, as ordered; what a child process runs. Sends each step's name, and the number of moments at the end."""
    connection = connect(url, autocommit=True)
    exchanges = Exchanges(connection, orders.fatal_moment or 0, _die)
    if orders.fatal_moment is not None or not orders.stops:
        sys.addaudithook(lambda event, values: _watch_files(event, values, str(settings.workspaces), exchanges))
    if orders.file_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (orders.file_bytes, orders.file_bytes))
    embedder = SlowEmbedder(orders.seconds_a_text)
    run = BuildRun(connection, settings, request, embedder, run_id)
    try:
        if orders.stops:
            for step in STEPS:
                _ = {
                    "begun": lambda: run.build_id,
                    "extraction": run.extraction,
                    "pairing": run.pairing,
                    "chunking": run.chunking,
                    "embedding": run.embedding,
                    "published": run.diff_apply,
                }[step]()
                pipe.send(step)
                pipe.recv()
        build(run)
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
        sys.exit(1)
    pipe.send(exchanges.count)


def _watch_files(event: str, values: tuple[Any, ...], folder: str, exchanges: Exchanges) -> None:
    if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir") and folder in str(values[0]):
        exchanges.tick()


@cache
def _processes() -> multiprocessing.context.ForkServerContext:
    """Processes that begin with everything imported: each is a real one, and starts in milliseconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pandas", "tests.faults.faulty"])  # pyarrow imports pandas at the first array
    return context


_RUN_NUMBERS = count()


@dataclass
class Child:
    """A build in a process of its own."""

    world: World
    orders: Orders = field(default_factory=Orders)
    users: tuple[str, ...] = ()
    full: bool = False

    def __post_init__(self) -> None:
        self.run_id = f"child-{next(_RUN_NUMBERS)}"
        self.pipe, theirs = _processes().Pipe()
        request = BuildRequest(Mode.FULL if self.full else Mode.INCREMENTAL, self.users)
        self.process = _processes().Process(
            target=build_in_this_process,
            args=(self.world.url, self.world.settings, request, self.run_id, self.orders, theirs),
            daemon=True,
        )
        self.process.start()
        theirs.close()

    def go_on_to(self, step: str) -> None:
        """Let it do all steps up to and with this one, and stop there."""
        for each in STEPS:
            assert self.pipe.poll(PATIENCE)
            said = self.pipe.recv()
            assert said == each
            if each == step:
                return
            self.pipe.send("go on")

    def release(self) -> None:
        """Let it go on without a stop."""
        for _ in STEPS:
            self.pipe.send("go on")

    def kill(self) -> None:
        """Kill it outright, and wait until the server knows."""
        self.process.kill()
        self.end()

    def end(self) -> int | None:
        """Wait until it ended, and until the server knows that; return its exit code."""
        self.process.join(PATIENCE)
        assert self.process.exitcode is not None, "the build never ends"
        await_true(lambda: not any(is_alive(self.world.connection, build_id) for build_id in self.builds()))
        return self.process.exitcode

    def said(self) -> Any:
        """Return the last thing it said: how many moments it took, or how it failed."""
        last = None
        try:
            while self.pipe.poll():
                last = self.pipe.recv()
        except EOFError:
            pass
        self.pipe.close()
        return last

    def builds(self) -> list[int]:
        """Return its build, if it began one."""
        folder = str(self.world.settings.workspaces / self.run_id)
        return [row[0] for row in self.world.sql("select build_id from memory.build where workspace = %s", folder)]


def await_true(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "what should have happened never did"
        time.sleep(0.005)


# ---------------------------------------------------------------- what must hold


def memory_of(world: World) -> tuple[list[Any], ...]:
    """Return all that a reader can see of memory and how it came about."""
    return (
        world.chunks(),
        world.sql("select scope, snapshot::text, build_id from memory.watermark order by 1"),
        world.sql("select * from memory.change order by build_id, user_id, agent_id, source_key, source_id, 6, 8"),
        world.sql("select * from memory.skipped order by 1, 2, 3, 4, 6"),
        world.sql("select * from memory.source_status order by 1, 2, 5"),
    )


def status_of(world: World) -> MemoryStatus:
    """Return what `orbit status` reads."""
    return read_memory_status(world.connection, world.settings, world.embedder)


def assert_exact(world: World) -> None:
    """Memory is what a rebuild from nothing gives, and lineage tells how it came about."""
    stored, expected = stored_chunks(world), rebuild_from_scratch(world)
    assert stored.rows() == expected.select(stored.columns).rows()
    differences = replay_differences(world.connection)
    assert (differences.missing, differences.extra, differences.hash_differs) == (0, 0, 0)


def assert_put_right(world: World) -> None:
    """The next build alone brings the exact state, and leaves nothing of what went before."""
    world.build()
    assert_exact(world)
    assert_nothing_left(world)


def assert_nothing_left(world: World) -> None:
    """No workspace, no lock, no open build; and nothing for the next build to do."""
    folder = world.settings.workspaces
    assert [path.name for path in folder.iterdir()] == []
    assert world.sql(
        "select count(*) from pg_locks where locktype = 'advisory'"
        " and database = (select oid from pg_database where datname = current_database())"
    ) == [(0,)]
    assert world.sql("select build_id from memory.build where status = 'running'") == []
    status = status_of(world)
    assert (status.is_behind, status.troubles, status.running, status.workspaces) == (False, (), (), ())


def assert_nothing_stale(world: World, build_id: int) -> None:
    """A build published no chunk that was excluded or forgotten as of its re-check.

    Asked of the tables by another road than the build's own, right after it published.
    """
    [(snapshot, scope)] = world.sql(
        "select recheck_snapshot::text, scope from memory.build where build_id = %s", build_id
    )
    if snapshot is None:
        return
    asked = {"snapshot": snapshot, "users": scope.get("users"), "build": build_id}
    held = world.connection.execute(
        b"with flagged as (select * from orbitpilot.message"
        b"                  where not_remembered and pg_visible_in_snapshot(flag_xid, %(snapshot)s::pg_snapshot)),"
        b" mine as (select * from memory.chunk where build_id = %(build)s)"
        b" select 'excluded', source_id from mine join flagged using (user_id, agent_id, session_id, message_id)"
        b" union all"
        b" select 'reply', mine.source_id from mine"
        b"   join orbitpilot.message as asked using (user_id, agent_id, session_id, message_id)"
        b"   join flagged on (flagged.user_id, flagged.agent_id, flagged.session_id, flagged.run_index)"
        b"                 = (asked.user_id, asked.agent_id, asked.session_id, asked.run_index)"
        b"  where mine.reply_message_ids <> '{}' and flagged.is_active"
        b"    and pg_visible_in_snapshot(flagged.content_xid, %(snapshot)s::pg_snapshot)"
        b"    and pg_visible_in_snapshot(asked.content_xid, %(snapshot)s::pg_snapshot)"
        b" union all"
        b" select 'forgotten', source_id from mine join memory.tombstone as t using (user_id, agent_id, session_id)"
        b"  where pg_visible_in_snapshot(t.changed_xid, %(snapshot)s::pg_snapshot)",
        asked,
    ).fetchall()
    assert held == []


# ---------------------------------------------------------------- small disks


def can_mount() -> bool:
    """Whether this user may mount a file system here."""
    return os.geteuid() == 0 and _tries_to_mount()


@cache
def _tries_to_mount() -> bool:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        is_mounted = (
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False
            ).returncode
            == 0
        )
        if is_mounted:
            subprocess.run(["umount", folder], capture_output=True, check=True)
    return is_mounted


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of a few megabytes on a folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def only_free(disk: Path, kilobytes: int) -> Iterator[None]:
    """Fill a disk but for a few kilobytes, for a while."""
    ballast = disk / "ballast"
    status = os.statvfs(disk)
    room = status.f_bavail * status.f_frsize - kilobytes * 1024
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(room, 1))
    try:
        yield
    finally:
        ballast.unlink()
