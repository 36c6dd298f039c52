"""Lineage of forgotten sessions: rows keep their ids and lose the hashes of texts; of a whole account they go."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.turns import take_turn
from orbit_pipelines.lineage.forgetting import blank_hashes, find_account, find_hashes, remove_account
from orbit_pipelines.model import Store


@dataclass(frozen=True, slots=True)
class LineageHashes:
    """The hashes in ``memory.change``, by which a text that somebody guesses could be recognised."""

    name: str = "lineage"
    stage: Stage = Stage.LINEAGE
    tables: tuple[str, ...] = ("memory.change",)
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return the pairs and records whose changes have hashes; of an account, whatever lineage tells of it."""
        if scene.selection.account:
            rows = scene.connection.execute(
                "select agent_id, source_key, source_id, count(*) from memory.change where user_id = %s"
                " group by 1, 2, 3 order by 1, 2, 3",
                [scene.selection.user_id],
            ).fetchall()
        else:
            rows = scene.connection.execute(statement("find_selected_changes"), scene.selection.parameters()).fetchall()
        return Touched(sum(row[3] for row in rows), tuple(f"{agent}/{source}/{key}" for agent, source, key, _ in rows))

    def purge(self, scene: Scene) -> Touched:
        """Strip the hashes; delete the rows of an account, whose chunks are gone by now."""
        with take_turn(scene):
            touched = self.touched(scene)
            if scene.selection.account:
                scene.connection.execute("delete from memory.change where user_id = %s", [scene.selection.user_id])
            else:
                scene.connection.execute(statement("strip_selected_changes"), scene.selection.parameters())
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


@dataclass(frozen=True, slots=True)
class Skips:
    """Which pairs and records stayed out, and when: ids and reasons, so they go with a whole account only.

    What a build says of an account that is still there (its sessions are forgotten, its sources are so) isn't counted:
    the next build would say it again.
    """

    name: str = "skips"
    stage: Stage = Stage.LINEAGE
    tables: tuple[str, ...] = ("memory.skipped", "memory.source_status")
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return the account's, by agent and source; nothing unless the account is taken whole."""
        if not scene.selection.account:
            return Touched()
        rows = scene.connection.execute(statement("find_account_skips"), {"user": scene.selection.user_id}).fetchall()
        return Touched(sum(row[2] for row in rows), tuple(f"{agent}/{source}" for agent, source, _ in rows))

    def purge(self, scene: Scene) -> Touched:
        """Delete them."""
        if not scene.selection.account:
            return Touched()
        with take_turn(scene):
            touched = self.touched(scene)
            for name in ("delete_account_skips", "delete_account_source_statuses"):
                scene.connection.execute(statement(name), {"user": scene.selection.user_id})
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


@dataclass(frozen=True, slots=True)
class NamesInBuilds:
    """Whom builds were asked for: an account that is taken whole is named in none of those that ended."""

    name: str = "names_in_builds"
    stage: Stage = Stage.LINEAGE
    tables: tuple[str, ...] = ("memory.build",)
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return the builds that name the account; nothing unless it is taken whole."""
        if not scene.selection.account:
            return Touched()
        rows = scene.connection.execute(
            "select build_id from memory.build where scope -> 'users' ? %s and status <> 'running' order by 1",
            [scene.selection.user_id],
        ).fetchall()
        return Touched(len(rows), tuple(str(row[0]) for row in rows))

    def purge(self, scene: Scene) -> Touched:
        """Take the name out."""
        touched = self.touched(scene)
        if touched.count:
            scene.connection.execute(
                "update memory.build set scope = jsonb_set(scope, '{users}', (scope -> 'users') - %(user)s::text)"
                " where scope -> 'users' ? %(user)s and status <> 'running'",
                {"user": scene.selection.user_id},
            )
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


@dataclass(frozen=True, slots=True)
class LineageMirror:
    """The same rows, mirrored to Parquet for analysts. After the tables, so that no mirroring brings a hash back."""

    name: str = "lineage_mirror"
    stage: Stage = Stage.LINEAGE
    tables: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("lineage",)

    def touched(self, scene: Scene) -> Touched:
        """Return the files that hold hashes of the selection; of an account, those that name it."""
        folder = scene.settings.lineage
        found: Mapping[Path, int]
        if scene.selection.account:
            found = find_account(folder, scene.selection.user_id)
        else:
            found = find_hashes(folder, *self._keys(scene))
        ids = sorted(str(path.relative_to(folder)) for path in found)
        return Touched(sum(found.values()), tuple(ids))

    def purge(self, scene: Scene) -> Touched:
        """Have the files written anew without them."""
        touched = self.touched(scene)
        if scene.selection.account:
            remove_account(scene.connection, scene.settings.lineage, scene.selection.user_id)
        else:
            blank_hashes(scene.connection, scene.settings.lineage, *self._keys(scene))
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Read the files again."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)

    def _keys(self, scene: Scene) -> tuple[Store, list[str], list[tuple[str, str]]]:
        # Without an account there is one store.
        [store] = scene.selection.stores
        records = {*scene.selection.records, *scene.selection.caught}
        return store, scene.selection.session_ids, sorted((each.source_key, each.source_id) for each in records)
