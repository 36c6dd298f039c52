"""The tables of the forget benchmark."""

from collections.abc import Sequence

from orbit_pipelines.bench.forgetting import ForgetMeasured
from orbit_pipelines.bench.forgetting_speed import SpeedMeasured
from orbit_pipelines.bench.tables import TextTable
from orbit_pipelines.bench.wording import seconds_of

MOST_SECONDS = 0.3
"""How long one session's forget may take to the end of the row deletion, in a store of 100,000 chunks."""


def forget_tables(rounds: Sequence[ForgetMeasured]) -> list[TextTable]:
    """Return what was forgotten, and what became of the evidence."""
    forgotten = TextTable(
        "What was forgotten",
        ("seed", "people", "sessions", "forgotten", "chunks purged", "evidence in them", "evidence that stays"),
        tuple((str(each.seed), *(f"{count:,}" for count in _counts(each))) for each in rounds),
    )
    events = list(rounds[0].resurrected) if rounds else []
    outcomes = TextTable(
        "Evidence of forgotten sessions found in memory, and evidence lost beside them",
        ("seed", "after the forget", *(f"after {event}" for event in events), "lost elsewhere", "verification"),
        tuple(
            (
                str(each.seed),
                f"{each.leaked:,}",
                *(f"{each.resurrected[event]:,}" for event in events),
                f"{each.lost:,}",
                "nothing found" if not each.unverified else f"{each.unverified:,} found",
            )
            for each in rounds
        ),
    )
    return [forgotten, outcomes]


def speed_table(speed: SpeedMeasured) -> TextTable:
    """Return the seconds of a forget."""
    limit = f"at most {seconds_of(MOST_SECONDS)}"
    rows = (
        ("to tombstone and fence", seconds_of(speed.fence_seconds), limit),
        ("to the end of the row deletion", seconds_of(speed.rows_seconds), limit),
        ("the same, with the store's whole cache to empty", seconds_of(speed.first_rows_seconds), "–"),
        ("to the end: verified by every road, vacuumed", seconds_of(speed.verified_seconds), "–"),
    )
    return TextTable(
        f"Forgetting one session in a store of {speed.chunks:,} chunks", ("what", "seconds", "limit"), rows
    )


def _counts(measured: ForgetMeasured) -> tuple[int, ...]:
    return (
        measured.people,
        measured.sessions,
        measured.forgotten,
        measured.chunks_purged,
        measured.evidence_forgotten,
        measured.evidence_kept,
    )
