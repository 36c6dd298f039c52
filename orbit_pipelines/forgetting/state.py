"""What imports and change detection keep of sessions, and the ledger of their pairs' numbers."""

from collections import Counter
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
        """Return them by session; not what originals wrote that were deleted after the forget."""
        deletions = Counter((agent, key) for _, agent, key, _ in _find_deletions(scene))
        admissions = scene.connection.execute(
            statement("find_selected_admissions"), scene.selection.parameters()
        ).fetchall()
        return Touched(
            deletions.total() + len(admissions),
            (
                *(f"admission:{agent}/{session}" for agent, session in admissions),
                *(f"deletion:{agent}/{key}" for agent, key in deletions),
            ),
        )

    def purge(self, scene: Scene) -> Touched:
        """Delete them. The next build takes these sessions whole because of their tombstones, so nothing is missed."""
        with take_turn(scene):
            touched = self.touched(scene)
            deletions = [deletion_id for deletion_id, *_ in _find_deletions(scene)]
            scene.connection.execute("delete from orbitpilot.deletion where deletion_id = any(%s)", [deletions])
            scene.connection.execute(statement("delete_selected_admissions"), scene.selection.parameters())
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left that a forget should have taken: a deletion that nobody forgot yet is none of it."""
        not_taken = sum(not is_left for *_, is_left in _find_deletions(scene))
        return Absence(self.touched(scene).count - not_taken, Depth.ROWS_DELETED)


def _find_deletions(scene: Scene) -> list[tuple[int, str, str, bool]]:
    return scene.connection.execute(statement("find_selected_deletions"), scene.selection.parameters()).fetchall()


@dataclass(frozen=True, slots=True)
class PairLedger:
    """The numbers of pairs. They outlive their messages, so they go with a whole account only.

    Hashes of what was said go with every session: with its tombstone, unless an import was at them just then.
    """

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
        """Delete them, or the hashes alone."""
        with take_turn(scene):
            if not scene.selection.account:
                scene.connection.execute(statement("drop_selected_text_hashes"), scene.selection.parameters())
                return Touched()
            touched = self.touched(scene)
            scene.connection.execute("delete from memory.pair where user_id = %s", [scene.selection.user_id])
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left, of sessions the hashes."""
        left = scene.connection.execute(
            statement("count_selected_text_hashes"), scene.selection.parameters()
        ).fetchall()
        count = self.touched(scene).count if scene.selection.account else left[0][0]
        return Absence(count, Depth.ROWS_DELETED)
