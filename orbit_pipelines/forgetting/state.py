"""What imports and change detection keep of sessions, and the ledger of their pairs' numbers."""

from dataclasses import dataclass

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched
from orbit_pipelines.forgetting.turns import take_turn


@dataclass(frozen=True, slots=True)
class ChangeDetection:
    """Deletions that no build has taken in, and how much of a session memory had covered when a rule kept it out."""

    name: str = "change_detection"
    stage: Stage = Stage.STATE
    tables: tuple[str, ...] = ("orbitpilot.deletion", "memory.session_admission")
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return them by session."""
        rows = scene.connection.execute(statement("find_selected_state"), scene.selection.parameters()).fetchall()
        return Touched(
            sum(row[3] for row in rows), tuple(f"{kind}:{agent}/{session}" for kind, agent, session, _ in rows)
        )

    def purge(self, scene: Scene) -> Touched:
        """Delete them."""
        with take_turn(scene):
            touched = self.touched(scene)
            for name in ("delete_selected_deletions", "delete_selected_admissions"):
                scene.connection.execute(statement(name), scene.selection.parameters())
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)


@dataclass(frozen=True, slots=True)
class PairLedger:
    """The numbers of pairs. They outlive their messages, so they go with a whole account only."""

    name: str = "pair_ledger"
    stage: Stage = Stage.STATE
    tables: tuple[str, ...] = ("memory.pair",)
    folders: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return the account's, by session; nothing unless the account is taken whole."""
        if not scene.selection.account:
            return Touched()
        rows = scene.connection.execute(
            "select agent_id, session_id, count(*) from memory.pair where user_id = %s group by 1, 2 order by 1, 2",
            [scene.selection.user_id],
        ).fetchall()
        return Touched(sum(row[2] for row in rows), tuple(f"{agent}/{session}" for agent, session, _ in rows))

    def purge(self, scene: Scene) -> Touched:
        """Delete them."""
        if not scene.selection.account:
            return Touched()
        with take_turn(scene):
            touched = self.touched(scene)
            scene.connection.execute("delete from memory.pair where user_id = %s", [scene.selection.user_id])
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)
