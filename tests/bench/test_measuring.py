"""All steps over a small history: what they count is what the edits before them imply."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from orbit_pipelines.bench import edits
from orbit_pipelines.bench.corpus import Corpus
from orbit_pipelines.bench.measurements import StepMeasured
from orbit_pipelines.bench.measuring import measure_steps
from orbit_pipelines.bench.steps import STEPS
from orbit_pipelines.database.connection import connect
from orbit_pipelines.settings import Settings

CORPUS = Corpus(200)

Chunk = tuple[str, str, int, bytes]
"""user_id, source_id, chunk_index, content_hash"""


@dataclass
class Watcher:
    """Sees what memory holds between the steps: each announcement comes before the next one's edit."""

    url: str
    states: list[set[Chunk]] = field(default_factory=list)

    def look(self, _announced: str = "") -> None:
        """Remember the state."""
        # Connected no longer than it takes: the benchmark waits until others are gone.
        with connect(self.url) as connection:
            chunks = connection.execute("select user_id, source_id, chunk_index, content_hash from memory.chunk")
            self.states.append({(user, source, index, digest) for user, source, index, digest in chunks})


def source_ids(numbers: Any) -> set[str]:
    return {f"c{number // 20:06d}:{number % 20}" for number in numbers}


def sources(chunks: set[Chunk]) -> set[str]:
    return {source_id for _, source_id, _, _ in chunks}


def texts(chunks: set[Chunk]) -> set[tuple[str, bytes]]:
    return {(user_id, content_hash) for user_id, _, _, content_hash in chunks}


def test_every_step_counts_what_its_edit_implies(settings: Settings) -> None:
    watcher = Watcher(str(settings.database_url))
    measured = measure_steps(settings, CORPUS, list(STEPS.values()), watcher.look)
    watcher.look()
    by_step = {each.step: each for each in measured}
    assert list(by_step) == list(STEPS)
    # The first announcement is of the loading.
    before = dict(zip(STEPS, watcher.states[1:], strict=False))
    after = dict(zip(STEPS, watcher.states[2:], strict=True))
    known: set[tuple[str, bytes]] = set()
    for name, step in by_step.items():
        assert_plausible(step)
        assert step.added == len(after[name] - before[name])
        assert step.removed == len(before[name] - after[name])
        assert step.embedded == len(texts(after[name]) - known)
        known |= texts(after[name])
    assert sources(after["W1"]) == source_ids(range(200))
    assert by_step["W2"].wrote_only_its_build_row
    assert not by_step["W1"].wrote_only_its_build_row
    assert (by_step["W2"].added, by_step["W2"].removed, by_step["W2"].embedded) == (0, 0, 0)
    edited = sources(before["W3"] ^ after["W3"])
    assert edited == source_ids(CORPUS.choose(2, 3))
    assert sources(before["W4"]) - sources(after["W4"]) == source_ids(edits.excluded_pairs(CORPUS))
    assert len(sources(after["W5"]) - sources(before["W5"])) == 5
    assert {user_id for user_id, *_ in before["W6"] - after["W6"]} == {"u00"}
    assert "u00" not in {user_id for user_id, *_ in after["W6"]}
    assert by_step["growth"].added
    assert by_step["growth"].removed
    assert (by_step["W7"].added, by_step["W7"].removed, by_step["W7"].embedded) == (0, 0, 0)
    assert [name for name, step in by_step.items() if step.ratio is None] == ["W2"]


def assert_plausible(step: StepMeasured) -> None:
    """What holds for every step, without asserting how long anything took."""
    assert step.pairs == CORPUS.pairs
    assert step.floor_seconds > 0
    assert step.seconds == pytest.approx(sum(step.parts.values()))
    assert step.ratio is None or step.ratio == step.seconds / step.floor_seconds
    assert step.wal_bytes > 0
    assert 20 < step.peak_mib < 2_000
    assert step.written["memory.build"]["inserted"] == 1
