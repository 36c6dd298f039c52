import pytest

from orbit_pipelines.bench.measurements import BenchResult, CommandMeasured, ImportMeasured, StepMeasured, Written
from orbit_pipelines.bench.targets import judge_bench, judge_import

BUILD_ROW: Written = {"memory.build": {"inserted": 1, "updated": 1, "deleted": 0}}


def measured(
    step: str,
    seconds: float,
    *,
    pairs: int = 20_000,
    floor: float = 0.1,
    peak: float = 100,
    written: Written = BUILD_ROW,
) -> StepMeasured:
    return StepMeasured(step, pairs, seconds, floor, seconds / floor, 0, 0, 0, 0, peak, written=written)


def outcomes(*steps: StepMeasured, command: CommandMeasured | None = None) -> list[bool]:
    """Return whether the targets that are judged are met."""
    return [target.is_met for target in judge_bench(BenchResult(steps, command=command)) if target.is_met is not None]


@pytest.mark.parametrize(
    ("step", "is_met"),
    [
        (measured("W1", 0.3), True),
        (measured("W1", 0.31), False),
        (measured("W1", 9, pairs=2_000), None),
        (measured("W3", 0.4), True),
        (measured("W3", 0.41), False),
        (measured("W4", 0.1), True),
        (measured("W4", 0.11), False),
        (measured("W5", 0.4), True),
        (measured("W5", 0.41), False),
        (measured("W6", 0.15), True),
        (measured("W6", 0.16), False),
        (measured("W1", 9, pairs=200_000, peak=600), True),
        (measured("W1", 9, pairs=200_000, peak=601), False),
        (measured("W1", 9, pairs=400_000, peak=601), False),
    ],
)
def test_a_step_is_held_against_its_limit_at_the_size_it_is_about(step: StepMeasured, is_met: bool | None) -> None:
    assert outcomes(step) == ([] if is_met is None else [is_met])


def test_a_build_that_finds_nothing_to_do_is_held_against_its_time_and_its_writes() -> None:
    two_tables: Written = BUILD_ROW | {"memory.store": {"inserted": 0, "updated": 1, "deleted": 0}}
    two_rows: Written = {"memory.build": {"inserted": 2, "updated": 0, "deleted": 0}}
    assert outcomes(measured("W2", 0.03)) == [True, True]
    assert outcomes(measured("W2", 0.031)) == [False, True]
    assert outcomes(measured("W2", 0.03, written=two_tables)) == [True, False]
    assert outcomes(measured("W2", 0.03, written=two_rows)) == [True, False]
    assert outcomes(measured("W2", 1, pairs=200, written={})) == [False]


@pytest.mark.parametrize(("large", "is_met"), [(0.15, True), (0.151, False)])
def test_growth_is_the_ratio_of_the_same_change_at_two_sizes(large: float, is_met: bool) -> None:
    small = measured("growth", 0.1, pairs=2_000)
    assert outcomes(small) == []
    assert outcomes(small, measured("growth", large, pairs=200_000)) == [is_met]


@pytest.mark.parametrize(("seconds", "is_met"), [(5.0, True), (5.1, False)])
def test_the_whole_command_is_held_against_its_limit(seconds: float, is_met: bool) -> None:
    command = CommandMeasured(2_000, seconds, imports=2, dagster=1, build=0.02, events=60)
    assert outcomes(command=command) == [is_met]
    assert command.rest == pytest.approx(seconds - 3.02)


@pytest.mark.parametrize(
    ("messages", "seconds", "peak_mib", "met"),
    [
        (200_000, 20, 100 + 195, [True, True]),
        (200_000, 20.1, 100 + 196, [False, False]),
        (20_000, 1, 100, [None, None]),
    ],
)
def test_an_import_is_held_against_its_speed_and_its_memory(
    messages: int, seconds: float, peak_mib: float, met: list[bool | None]
) -> None:
    imported = ImportMeasured(messages, messages // 40, 1, seconds, seconds, baseline_mib=100, peak_mib=peak_mib)
    assert [target.is_met for target in judge_import(imported)] == met
