"""The hand-over files of builds: those that run and are left without the store, and what dead ones left behind."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from orbit_pipelines.building.builds import remove_orphans
from orbit_pipelines.building.extraction import STORES
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.turns import take_turn


@dataclass(frozen=True, slots=True)
class Workspaces:
    """Frames of messages, pairs, chunks and vectors on their way from step to step."""

    name: str = "workspaces"
    stage: Stage = Stage.WORKSPACES
    tables: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("workspaces",)

    def touched(self, scene: Scene) -> Touched:
        """Return the files that hold the selection's stores, and those of which nobody can tell."""
        stores = frozenset(scene.selection.stores)
        held = [
            f"{path.name}/{part}"
            for path in _folders(scene)
            for part in Workspace(path).parts_with(stores, with_unreadable=True)
        ]
        return Touched(len(held), tuple(held))

    def purge(self, scene: Scene) -> Touched:
        """Take the stores out of every file; a build at work goes on without them, and their people wait.

        What dead builds left goes whole, unread. While no publish of the person runs: it reads these files more than
        once.

        Raises:
            UnreadableFile: a file of a build at work is damaged.
        """
        stores = frozenset(scene.selection.stores)
        with take_turn(scene):
            before = self.touched(scene).ids
            orphans = {path.name for path in remove_orphans(scene.connection, scene.settings.workspaces)}
            revisions = _read_revisions(scene)
            replaced = [each for each in before if each.partition("/")[0] in orphans]
            replaced += [
                f"{path.name}/{part}"
                for path in _folders(scene)
                if not _is_behind_fence(Workspace(path), revisions)
                for part in Workspace(path).forget(stores)
            ]
        return Touched(len(replaced), tuple(replaced))

    def verify(self, scene: Scene) -> Absence:
        """Look into the files again, but for those of builds that began behind the fence: they know the tombstones."""
        stores = frozenset(scene.selection.stores)
        revisions = _read_revisions(scene)
        held = [
            part
            for path in _folders(scene)
            if not _is_behind_fence(Workspace(path), revisions)
            for part in Workspace(path).parts_with(stores)
        ]
        return Absence(len(held), Depth.ROWS_DELETED)


def _read_revisions(scene: Scene) -> pl.DataFrame:
    return read_frame(
        scene.connection,
        b"select user_id, agent_id, forget_revision from memory.store"
        b" where user_id = %(user_id)s and agent_id = any(%(agents)s)",
        scene.selection.parameters(),
        STORES,
    )


def _is_behind_fence(workspace: Workspace, revisions: pl.DataFrame) -> bool:
    """Whether a build's finished extraction saw these revisions, and so the tombstones that go with them."""
    try:
        if workspace.facts("extraction") is None:
            return False
        seen = workspace.read_all("stores", STORES)
    except FileNotFoundError:
        return True
    except (pl.exceptions.PolarsError, ValueError):
        # Damaged: what it saw can't be told.
        return False
    known = revisions.join(seen, on=("user_id", "agent_id"), how="left", suffix="_seen")
    return known.filter(pl.col("forget_revision") > pl.col("forget_revision_seen").fill_null(0)).is_empty()


def _folders(scene: Scene) -> list[Path]:
    folder = scene.settings.workspaces
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
