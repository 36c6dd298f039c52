"""Kinds, each asked for all the names that a selection went by: what moved since is in memory under its former one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Scene, Stage, Touched


@dataclass(frozen=True, slots=True)
class Following:
    """A kind that looks under former names too."""

    kind: ArtifactKind

    @property
    def name(self) -> str:
        """The kind's."""
        return self.kind.name

    @property
    def stage(self) -> Stage:
        """The kind's."""
        return self.kind.stage

    @property
    def tables(self) -> tuple[str, ...]:
        """The kind's."""
        return self.kind.tables

    @property
    def folders(self) -> tuple[str, ...]:
        """The kind's."""
        return self.kind.folders

    def touched(self, scene: Scene) -> Touched:
        """Return what is touched under any of the names."""
        return _each(scene, self.kind.touched)

    def purge(self, scene: Scene) -> Touched:
        """Purge it under each of the names."""
        return _each(scene, self.kind.purge)

    def verify(self, scene: Scene) -> Absence:
        """Look under each of the names."""
        absences = [self.kind.verify(each) for each in _scenes(scene)]
        return Absence(sum(each.found for each in absences), absences[0].depth)


def following(kinds: Iterable[ArtifactKind]) -> tuple[ArtifactKind, ...]:
    """Return the kinds, each looking under former names too."""
    return tuple(Following(kind) for kind in kinds)


def _scenes(scene: Scene) -> list[Scene]:
    return [replace(scene, selection=each) for each in scene.selection.by_name]


def _each(scene: Scene, look: Callable[[Scene], Touched]) -> Touched:
    first, *others = [look(each) for each in _scenes(scene)]
    for other in others:
        first = Touched(
            first.count + other.count,
            first.ids + other.ids,
            first.fingerprint + other.fingerprint,
            first.mixed + other.mixed,
            first.lines + other.lines,
            first.edited + other.edited,
            first.untargetable + other.untargetable,
            first.refused + other.refused,
            first.to_review + other.to_review,
        )
    return first
