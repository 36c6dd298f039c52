"""One run of the benchmark: every size and repeat, the whole command, and the peers, on one server."""

from collections.abc import Sequence
from dataclasses import dataclass

from orbit_pipelines.bench.command import measure_command
from orbit_pipelines.bench.corpus import Corpus
from orbit_pipelines.bench.measurements import BenchResult, CommandMeasured, StepMeasured, medians
from orbit_pipelines.bench.measuring import Announce, measure_steps
from orbit_pipelines.bench.peers import Peers, run_peers
from orbit_pipelines.bench.places import Place, bench_database
from orbit_pipelines.bench.steps import Step

TARGET_PAIRS = 20_000
"""The size that the targets are about."""


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure. ``peers`` is None without others to compare with.

    ``has_command``: also the whole command, and builds that have a process each, at one size.
    """

    sizes: Sequence[int]
    steps: Sequence[Step]
    repeats: int = 1
    has_command: bool = True
    peers: Peers | None = None

    @property
    def command_pairs(self) -> int:
        """The size that the whole command is measured at."""
        return TARGET_PAIRS if TARGET_PAIRS in self.sizes else max(self.sizes)


def run_bench(place: Place, plan: BenchPlan, announce: Announce = lambda _what: None) -> BenchResult:
    """Measure all of a plan; of repeats, the median."""
    measured: list[StepMeasured] = []
    anew: list[StepMeasured] = []
    command: CommandMeasured | None = None
    for repeat in range(plan.repeats):
        for pairs in sorted(plan.sizes):
            with bench_database(place) as settings:
                measured += measure_steps(settings, Corpus(pairs), plan.steps, announce)
                if plan.has_command and pairs == plan.command_pairs and repeat == 0:
                    announce(f"{pairs:,} pairs: a whole orbit build that finds nothing to do")
                    command = measure_command(settings, pairs)
            if plan.has_command and pairs == plan.command_pairs and repeat == 0:
                with bench_database(place) as settings:
                    anew = measure_steps(settings, Corpus(pairs), plan.steps, announce, in_new_processes=True)
    compared = []
    if plan.peers is not None:
        compared = run_peers(plan.peers, place.folder, plan.sizes, plan.repeats, announce)
    return BenchResult(tuple(medians(measured)), tuple(medians(compared)), command, tuple(anew))
