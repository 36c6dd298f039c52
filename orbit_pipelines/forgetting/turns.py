"""A forget's turn among the writers of a person's memory."""

from collections.abc import Iterator
from contextlib import contextmanager

from orbit_pipelines.building.locks import lock_person
from orbit_pipelines.forgetting.kinds import Scene


@contextmanager
def take_turn(scene: Scene) -> Iterator[None]:
    """Open a transaction in which nobody else publishes the person's memory; what it reads is newer than its turn."""
    with scene.connection.transaction():
        scene.connection.execute("set transaction isolation level read committed")
        lock_person(scene.connection, scene.selection.user_id, scene.on_wait)
        yield
