from collections.abc import Callable

from orbit_pipelines.checking.build_of_run import BuildOfRun, find_build, find_published_build
from tests.worlds import World

Builds = Callable[..., BuildOfRun]


def test_a_run_that_built_nothing_has_no_build(world: World) -> None:
    assert find_build(world.connection, "some-run") is None


def test_a_build_is_found_by_its_run_while_its_frames_are_there(world: World, build_in_run: Builds) -> None:
    world.say(world.account("me"), "s", "I like tea.")
    build = build_in_run(until="chunking")
    assert build.workspace.parts("chunks")
    assert find_published_build(world.connection, "run-0") is None
    build.workspace.remove()
    assert find_build(world.connection, "run-0") is None


def test_a_published_build_and_one_without_work_leave_memory_as_they_say(world: World, build_in_run: Builds) -> None:
    world.say(world.account("me"), "s", "I like tea.")
    for status in ("published", "unchanged"):
        made = build_in_run()
        found = find_published_build(world.connection, made.workspace.root.name)
        assert found
        assert (found.build_id, found.status) == (made.build_id, status)
