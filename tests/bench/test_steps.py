import pytest

from orbit_pipelines.bench.steps import STEPS, USUAL_STEPS, choose_steps


@pytest.mark.parametrize(
    ("names", "compares_sizes", "chosen"),
    [
        ((), False, USUAL_STEPS),
        ((), True, (*USUAL_STEPS, "growth")),
        (("W3",), True, ("W1", "W3")),
        (("W7", "W2"), False, ("W1", "W2", "W7")),
        (tuple(STEPS), False, tuple(STEPS)),
    ],
)
def test_steps_run_in_their_order_after_a_first_build(
    names: tuple[str, ...], compares_sizes: bool, chosen: tuple[str, ...]
) -> None:
    assert tuple(step.name for step in choose_steps(names, compares_sizes=compares_sizes)) == chosen
