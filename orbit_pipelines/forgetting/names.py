"""What still names an account that was taken whole, once all else is gone; a rerun would need it to find the rest."""

from dataclasses import dataclass

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.turns import take_turn
from orbit_pipelines.lineage.forgetting import refresh_forgets


@dataclass(frozen=True, slots=True)
class NamesOfAccount:
    """What the account, its sessions and records were called before; where the account is gone, every other name too.

    An account that is there needs its tombstones by name, for every way in asks for them so. One that is gone needs
    them under its hash alone. What the forget itself wrote isn't counted.
    """

    name: str = "former_names"
    stage: Stage = Stage.EVIDENCE
    tables: tuple[str, ...] = ("memory.former_session", "memory.former_record", "memory.former_account")
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return what has former names; nothing unless the account is taken whole."""
        if not scene.selection.account:
            return Touched()
        found = scene.connection.execute(statement("find_former_names"), {"user": scene.selection.user_id}).fetchall()
        return Touched(sum(row[1] for row in found), tuple(name for name, _ in found))

    def purge(self, scene: Scene) -> Touched:
        """Delete them, and whatever else names an account that is gone."""
        if not scene.selection.account:
            return Touched()
        user = {"user": scene.selection.user_id}
        with take_turn(scene):
            touched = self.touched(scene)
            for name in ("delete_former_session_names", "delete_former_record_names", "delete_former_account_names"):
                scene.connection.execute(statement(name), user)
            is_here = scene.connection.execute("select from orbitpilot.account where user_id = %(user)s", user).rowcount
            for name in () if is_here else _OF_GONE_ACCOUNT:
                scene.connection.execute(statement(name), user)
        refresh_forgets(scene.connection, scene.settings.lineage)
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count the former names that are left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


_OF_GONE_ACCOUNT = (
    "delete_named_tombstones",
    "delete_named_record_tombstones",
    "delete_named_watermark",
    "delete_named_stores",
)
