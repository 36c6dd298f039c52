"""Forgetting on conversations with known evidence: nothing of it may leak, come back, or be lost beside the selection.

Sessions are chosen at random, by a seed. Around the forget everything happens that could bring them back: a build that
was ready to publish, a build that dies, builds of both modes, and the import of the same conversations again.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import count
from random import Random
from typing import Any

import psycopg

from orbit_pipelines.bench.conversations import Conversations
from orbit_pipelines.bench.measuring import Announce
from orbit_pipelines.bench.places import Place, bench_database
from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.resolving import resolve
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.forgetting.verifying import verify_now
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.model import Mode, Store
from orbit_pipelines.settings import Settings

Connection = psycopg.Connection[Any]
Evidence = frozenset[tuple[str, str]]
"""A person and a message of theirs."""


@dataclass(frozen=True, slots=True)
class ForgetMeasured:
    """One round. Evidence is counted in messages that questions need.

    ``leaked``: evidence of forgotten sessions found in memory right after the forget. ``resurrected``: what happened
    afterwards → such evidence found then. ``lost``: evidence of sessions that weren't selected, and that memory held
    before and not in the end. ``unverified``: what the independent verification found in the end.
    """

    seed: int
    people: int
    sessions: int
    forgotten: int
    chunks_purged: int
    evidence_forgotten: int
    evidence_kept: int
    leaked: int
    resurrected: dict[str, int]
    lost: int
    unverified: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing leaked, came back or was lost."""
        return not (self.leaked or sum(self.resurrected.values()) or self.lost or self.unverified)

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {**asdict(self), "is_clean": self.is_clean}


def measure_forgetting(
    place: Place,
    samples: list[Conversations],
    seeds: Iterable[int],
    part: float,
    announce: Announce = lambda _what: None,
) -> list[ForgetMeasured]:
    """Return a round for each seed, each in a database of its own.

    Args:
        place: where to measure.
        samples: the conversations.
        seeds: choose which sessions are forgotten.
        part: of each person's sessions, at least one of them and never all.
        announce: told what is done.
    """
    measured = []
    for seed in seeds:
        announce(f"seed {seed}: importing and building")
        with bench_database(place) as settings, connect(str(settings.database_url), autocommit=True) as connection:
            measured.append(_Round(connection, settings, samples, seed, part, announce).run())
    return measured


def choose_sessions(samples: Iterable[Conversations], seed: int, part: float) -> dict[str, tuple[str, ...]]:
    """Return the sessions to forget by person: a random part of each one's, at least one and never all. Pure."""
    random = Random(seed)  # noqa: S311 - chosen to be repeated, not to be secret
    chosen = {}
    for sample in samples:
        ids = [str(session.session_id) for session in sample.sessions]
        wanted = min(max(1, round(len(ids) * part)), max(1, len(ids) - 1))
        chosen[sample.user_id] = tuple(sorted(random.sample(ids, wanted)))
    return chosen


class _Round:
    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        samples: list[Conversations],
        seed: int,
        part: float,
        announce: Announce,
    ) -> None:
        self.connection, self.settings, self.samples, self.seed = connection, settings, samples, seed
        self.announce = announce
        self.chosen = choose_sessions(samples, seed, part)
        self.embedder = FakeEmbedder()
        self._numbers = count()

    def run(self) -> ForgetMeasured:
        """Go through one round."""
        for sample in self.samples:
            create_account(self.connection, sample.user_id)
        self._import()
        self._build()
        before = self._held()
        selected = frozenset(
            (sample.user_id, message)
            for sample in self.samples
            for message in sample.evidence
            if sample.session_of[message] in self.chosen[sample.user_id]
        )
        ready = self._prepare(Mode.FULL)
        self.announce(f"seed {self.seed}: forgetting")
        purged = self._forget()
        leaked = len(self._held() & selected)
        afterwards: dict[str, Callable[[], None]] = {
            "a build that was ready": lambda: self._publish(ready),
            "an incremental build": self._build,
            "a full rebuild": lambda: self._build(Mode.FULL),
            "the same import again": self._import_again,
            "a build that died, and the next": self._crash,
        }
        resurrected = {}
        for what, happens in afterwards.items():
            self.announce(f"seed {self.seed}: {what}")
            happens()
            resurrected[what] = len(self._held() & selected)
        return ForgetMeasured(
            seed=self.seed,
            people=len(self.samples),
            sessions=sum(len(sample.sessions) for sample in self.samples),
            forgotten=sum(map(len, self.chosen.values())),
            chunks_purged=purged,
            evidence_forgotten=len(before & selected),
            evidence_kept=len(before - selected),
            leaked=leaked,
            resurrected=resurrected,
            lost=len((before - selected) - self._held()),
            unverified=self._verify(),
        )

    def _import(self) -> None:
        key = load_hash_key(self.settings)
        for sample in self.samples:
            import_sessions(self.connection, Store(sample.user_id), sample.sessions, hash_key=key)

    def _prepare(self, mode: Mode = Mode.INCREMENTAL) -> BuildRun:
        """Return a build that has done everything but publish."""
        connection = connect(str(self.settings.database_url), autocommit=True)
        run = BuildRun(connection, self.settings, BuildRequest(mode), self.embedder, f"bench-{next(self._numbers)}")
        run.embedding()
        return run

    def _publish(self, run: BuildRun) -> None:
        try:
            build(run)
        finally:
            run.connection.close()

    def _build(self, mode: Mode = Mode.INCREMENTAL) -> None:
        with connect(str(self.settings.database_url), autocommit=True) as connection:
            build(
                BuildRun(connection, self.settings, BuildRequest(mode), self.embedder, f"bench-{next(self._numbers)}")
            )

    def _import_again(self) -> None:
        self._import()
        self._build()

    def _crash(self) -> None:
        # Its connection is gone and its workspace left, as after a kill.
        self._prepare(Mode.FULL).connection.close()
        self._build()

    def _forget(self) -> int:
        purged = 0
        for user_id, sessions in self.chosen.items():
            report = forget(self.connection, self.settings, ForgetRequest(Selectors(user_id, sessions=sessions)))
            purged += report.artifacts["chunks"].count
        return purged

    def _verify(self) -> int:
        found = 0
        for user_id, sessions in self.chosen.items():
            selection = resolve(self.connection, Selectors(user_id, sessions=sessions))
            found += verify_now(self.connection, self.settings, selection, KINDS, self.embedder).found
        return found

    def _held(self) -> Evidence:
        """Return the evidence whose text memory holds, under whatever key; read from nothing but the chunks' texts.

        What a message says that is also said, word for word, in a session that stays is no evidence of where it came
        from; such messages aren't counted.
        """
        held = set()
        for sample in self.samples:
            texts, sessions = sample.texts, sample.session_of
            elsewhere = {
                text for message, text in texts.items() if sessions[message] not in self.chosen[sample.user_id]
            }
            rows = self.connection.execute("select content from memory.chunk where user_id = %s", [sample.user_id])
            memory = "\0".join(_without_blanks(row[0]) for row in rows)
            for message in sample.evidence:
                is_forgotten = sessions[message] in self.chosen[sample.user_id]
                if is_forgotten and texts[message] in elsewhere:
                    continue
                # A long message is cut into several chunks: its beginning stands whole in the first.
                if _without_blanks(texts[message])[:_RECOGNISED] in memory:
                    held.add((sample.user_id, message))
        return frozenset(held)


_RECOGNISED = 120
"""Characters, blanks aside, by which a message is recognised."""


def _without_blanks(text: str) -> str:
    return "".join(text.split())
