from orbit_pipelines.bench.measurements import PeerMeasured, StepMeasured, medians, steps_as_json


def step(name: str, seconds: float, pairs: int = 200) -> StepMeasured:
    return StepMeasured(name, pairs, seconds, 0.5, seconds / 0.5, 1, 2, 3, 4, 5.0, {"begin": seconds}, {})


def test_json_has_the_promised_keys_first() -> None:
    [only] = steps_as_json([step("W1", 1)])["steps"]
    promised = [
        "step",
        "pairs",
        "seconds",
        "floor_seconds",
        "ratio",
        "added",
        "removed",
        "embedded",
        "wal_bytes",
        "peak_mib",
    ]
    assert list(only)[: len(promised)] == promised


def test_of_repeats_each_step_and_size_keeps_the_one_with_the_median_time() -> None:
    repeats = [step("W1", 3), step("W2", 1), step("W1", 1), step("W1", 2), step("W1", 9, pairs=400)]
    assert [(each.step, each.pairs, each.seconds) for each in medians(repeats)] == [
        ("W1", 200, 2),
        ("W2", 200, 1),
        ("W1", 400, 9),
    ]


def test_a_peer_that_failed_once_is_told_by_the_runs_that_did_not() -> None:
    failed = PeerMeasured("a", "W1", 200, trouble="failed: timeout")
    ran = PeerMeasured("a", "W1", 200, seconds=2)
    assert medians([failed, ran]) == [ran]
    assert medians([failed, failed]) == [failed]
