"""Verification: what a forget took is looked for on roads that don't depend on how it was taken.

A forget calls this after each purge; `orbit verify` calls it for whoever wants to know at any time. It only reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.errors import EmbeddingFailed, UnreadableFile
from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Depth, Scene, Stage
from orbit_pipelines.forgetting.roads.event_log import look_at_event_log
from orbit_pipelines.forgetting.roads.fence import look_at_fence
from orbit_pipelines.forgetting.roads.files import look_at_files
from orbit_pipelines.forgetting.roads.mirror import look_at_mirror
from orbit_pipelines.forgetting.roads.neighbours import look_at_neighbours
from orbit_pipelines.forgetting.roads.planner_statistics import look_at_statistics
from orbit_pipelines.forgetting.roads.rows import look_at_rows
from orbit_pipelines.forgetting.roads.sentinels import look_at_texts
from orbit_pipelines.forgetting.roads.sight import Look, Sight, together
from orbit_pipelines.forgetting.roads.workspaces import look_at_workspaces
from orbit_pipelines.forgetting.selection import Selection
from orbit_pipelines.forgetting.snippets import read_snippets
from orbit_pipelines.forgetting.traces import Traces, remake_traces
from orbit_pipelines.settings import Settings

ROADS = {
    "fence": look_at_fence,
    "rows": look_at_rows,
    "texts": look_at_texts,
    "vectors": look_at_neighbours,
    "mirror_files": look_at_mirror,
    "files": look_at_files,
    "workspace_files": look_at_workspaces,
    "event_log": look_at_event_log,
    "planner_statistics": look_at_statistics,
}
"""Every road, by the name it has in reports."""

BY_TEXT_ALONE = ("files", "event_log", "planner_statistics")
"""Roads that look for texts wherever they are, whoever's."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What every kind says of itself, and what was found on the roads."""

    kinds: Mapping[str, Absence]
    roads: Mapping[str, Look]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Kinds that couldn't look at all that is theirs, and why."""

    @property
    def found(self) -> int:
        """How many things are left, counted on each road for itself."""
        of_kinds = sum(absence.found for absence in self.kinds.values())
        return of_kinds + sum(each.found for each in self.roads.values())

    @property
    def is_passed(self) -> bool:
        """Whether nothing was found, anywhere that was looked."""
        return not self.found

    @property
    def absences(self) -> dict[str, Absence]:
        """What a report says it was verified by: every kind, and every road that could be gone."""
        gone = {name: each for name, each in self.roads.items() if each.not_looked is None or each.found}
        return {
            **self.kinds,
            **{name: Absence(each.found, each.depth, tuple(each.where)) for name, each in gone.items()},
        }

    @property
    def not_looked(self) -> tuple[str, ...]:
        """What was not looked at, and why: sentences for a receipt's ``not_covered``."""
        of_roads = {name: each.not_looked for name, each in self.roads.items() if each.not_looked is not None}
        return tuple(f"{name}: {why}" for name, why in {**self.unreadable, **of_roads}.items())

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {
            "is_passed": self.is_passed,
            "kinds": {
                name: {"found": absence.found, "depth": absence.depth.value} for name, absence in self.kinds.items()
            },
            "roads": {name: each.as_json() for name, each in self.roads.items()},
            "unreadable": dict(self.unreadable),
        }


def verify_absence(
    scene: Scene, kinds: Iterable[ArtifactKind], traces: Traces, embedder: Embedder | None = None
) -> Verification:
    """Look for what a selection left, in every kind and on every road, there also under its former names.

    Args:
        scene: as kinds get it; nothing is written.
        kinds: the registry.
        traces: what the selection is recognised by: read before the purge, or made again from the originals.
        embedder: judges single vectors; the configured one unless given.
    """
    sights = [Sight(scene.connection, scene.settings, each, traces, embedder) for each in scene.selection.by_name]
    absences, unreadable = {}, {}
    for kind in kinds:
        try:
            absences[kind.name] = kind.verify(scene)
        except UnreadableFile as error:
            unreadable[kind.name] = str(error)
    return Verification(absences, {name: _look(name, sights) for name in ROADS}, unreadable)


def _look(road: str, sights: Sequence[Sight]) -> Look:
    """Go a road under every name the selection had; once where it doesn't ask for names."""
    return together(ROADS[road](sight) for sight in (sights[:1] if road in BY_TEXT_ALONE else sights))


def verify_now(
    connection: psycopg.Connection[Any],
    settings: Settings,
    selection: Selection,
    kinds: Iterable[ArtifactKind],
    embedder: Embedder | None = None,
) -> Verification:
    """Look for what a selection left, at any time after a forget, from what its originals tell.

    A cache that builds filled again meanwhile holds other sessions' texts too, so its rows are looked for by their
    hashes and vectors, not counted.

    Args:
        connection: only read from.
        settings: of the installation.
        selection: what was forgotten.
        kinds: the registry.
        embedder: computes the vectors of the originals again; None leaves that road out, and says so.
    """
    snippets = read_snippets(connection, selection)
    traces = _remake(connection, settings, selection, snippets, embedder)
    scene = Scene(connection, settings, selection, snippets=lambda: snippets)
    return verify_absence(scene, [kind for kind in kinds if kind.stage is not Stage.CACHE], traces, embedder)


def _remake(
    connection: psycopg.Connection[Any],
    settings: Settings,
    selection: Selection,
    snippets: frozenset[str],
    embedder: Embedder | None,
) -> Traces:
    """Make traces again, without vectors where the embedder doesn't answer or never made any that are stored."""
    if embedder is not None:
        models = connection.execute("select distinct model from memory.recipe").fetchall()
        with suppress(EmbeddingFailed):
            if any(embedder.may_be(model) for (model,) in models):
                return remake_traces(connection, settings, selection, snippets, embedder)
    return remake_traces(connection, settings, selection, snippets)


def deepened(absences: Mapping[str, Absence], names: Iterable[str], depth: Depth) -> dict[str, Absence]:
    """Return absences where some kinds, of which nothing was found, are gone to a greater depth."""
    wanted = set(names)
    return {
        name: Absence(0, depth) if name in wanted and not absence.found else absence
        for name, absence in absences.items()
    }
