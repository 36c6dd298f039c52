"""What tests of forgetting share: a world that is built, a forget in it, kinds that don't exist yet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Depth, Mixed, Scene, Stage, Touched
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.model import Store
from tests.worlds import World

ME = Store("me")


def talk(world: World, *sessions: str, store: Store = ME) -> None:
    """Give one person some sessions (three unless named) with two pairs each, and build."""
    world.account(store.user_id)
    for session in sessions or ("s1", "s2", "s3"):
        world.say(store, session, f"I like tea in {session}.", "> Noted.", f"And jam in {session}.", "> Jam too.")
    world.build()


def forget_in(world: World, user: str = "me", *, kinds: tuple[ArtifactKind, ...] = KINDS, **options: Any) -> Report:
    """Forget, with selectors and options by name."""
    asked = {name: options.pop(name) for name in ("rederive", "physical", "dry_run", "if_plan") if name in options}
    return forget(world.connection, world.settings, ForgetRequest(Selectors(user, **options), **asked), kinds)


def counts(report: Report) -> dict[str, int]:
    """Return what was found, by kind; kinds of which nothing was found are left out."""
    return {name: touched.count for name, touched in report.artifacts.items() if touched.count}


@dataclass
class Entries:
    """Entries as consolidation will make them: a key, and the sessions it comes from. In memory of this process."""

    entries: dict[str, set[str]]
    name: str = "entries"
    stage: Stage = Stage.ENTRIES
    tables: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    rederived: list[str] = field(default_factory=list)
    on_purge: Callable[[], None] = lambda: None
    edited: tuple[str, ...] = ()
    untargetable: tuple[str, ...] = ()
    to_review: tuple[str, ...] = ()

    def touched(self, scene: Scene) -> Touched:
        """Return the entries with any selected origin; those with others too apart."""
        selected = set(scene.selection.session_ids)
        ids = tuple(sorted(key for key, origins in self.entries.items() if origins & selected))
        mixed = tuple(Mixed(key, tuple(sorted(self.entries[key] - selected))) for key in ids)
        return Touched(
            len(ids),
            ids,
            mixed=tuple(each for each in mixed if each.remaining_sessions),
            edited=tuple(key for key in self.edited if key in ids),
            untargetable=self.untargetable,
            to_review=self.to_review,
        )

    def purge(self, scene: Scene) -> Touched:
        """Delete them whole."""
        self.on_purge()
        touched = self.touched(scene)
        if scene.rederive:
            self.rederived += [each.id for each in touched.mixed]
        for key in touched.ids:
            del self.entries[key]
        return touched

    def verify(self, scene: Scene) -> Absence:
        """Count what is left."""
        return Absence(self.touched(scene).count, Depth.ROWS_DELETED)
