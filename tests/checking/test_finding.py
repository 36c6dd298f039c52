from orbit_pipelines.checking.finding import SHOWN, find, name_of


def test_a_finding_passes_when_no_failure_counts_anything() -> None:
    assert find("x", failures={"a": 0}, seen={"pending": 3}).passed
    assert not find("x", failures={"a": 0, "b": 1}, seen={}).passed


def test_a_finding_names_few_examples_each_once() -> None:
    finding = find("x", failures={"a": 99}, seen={}, examples=[f"id-{number % 40}" for number in range(99)])
    assert len(finding.examples) == SHOWN == len(set(finding.examples))


def test_an_example_is_written_from_the_outside_in() -> None:
    assert name_of("me", "orbitpilot", "s:0", 2) == "me/orbitpilot/s:0/2"


def test_a_finding_is_told_in_a_line() -> None:
    assert (
        find("x", seen={"chunks": 1200, "pending": 0}, failures={"of_zeros": 0}).summary == "Holds. Seen: 1,200 chunks."
    )
    broken = find("x", seen={}, failures={"of_zeros": 2, "not_finite": 1})
    assert broken.summary == "Broken: 2 × of zeros, 1 × not finite."
