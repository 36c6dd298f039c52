"""What tests of forgetting share: a world that is built, and a forget in it."""

from typing import Any

from orbit_pipelines.forgetting.kinds import ArtifactKind
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import forget
from orbit_pipelines.model import Store
from tests.worlds import World

ME = Store("me")


def talk(world: World) -> None:
    """Give one person three sessions with two pairs each, and build."""
    world.account("me")
    for session in ("s1", "s2", "s3"):
        world.say(ME, session, f"I like tea in {session}.", "> Noted.", f"And jam in {session}.", "> Jam too.")
    world.build()


def forget_in(
    world: World, user: str = "me", *, kinds: tuple[ArtifactKind, ...] = KINDS, **options: Any
) -> Report:
    """Forget, with selectors and options by name."""
    asked = {name: options.pop(name) for name in ("rederive", "physical", "dry_run", "if_plan") if name in options}
    return forget(world.connection, world.settings, ForgetRequest(Selectors(user, **options), **asked), kinds)
