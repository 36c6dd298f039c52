from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.history.stream import Problems
from orbit_pipelines.history.times import read_time, to_utc

MOMENT = datetime(2024, 6, 10, 6, 13, 20, tzinfo=UTC)

moments = st.integers(365 * 86_400 * 10**6, 7 * 10**15).map(
    lambda microseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
)
whole_seconds = moments.map(lambda moment: moment.replace(microsecond=0))
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    "written",
    [
        1718000000,
        1718000000.0,
        1718000000000,
        1718000000000000,
        1718000000000000000,
        "1718000000",
        "1718000000.000",
        " 1718000000000 ",
        "2024-06-10T06:13:20Z",
        "2024-06-10T06:13:20.000000Z",
        "2024-06-10T08:13:20+02:00",
        "2024-06-10T06:13:20",
        "2024-06-10 06:13:20.000000",
        "2024-06-10 06:13:20 UTC",
        "2024-06-10 08:13:20 +0200",
        "Mon, 10 Jun 2024 06:13:20 +0000",
        "10 Jun 2024 08:13:20 +0200 (CEST)",
        "Mon, 10 Jun 2024 06:13:20 GMT",
        "Mon, 10 Jun 2024 02:13:20 EDT",
        {"$date": "2024-06-10T06:13:20.000Z"},
        {"$date": 1718000000000},
        {"$date": {"$numberLong": "1718000000000"}},
        datetime(2024, 6, 10, 6, 13, 20),  # noqa: DTZ001 - a time without a zone is what is tested
        datetime(2024, 6, 10, 8, 13, 20, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_every_way_of_writing_a_moment_names_the_same_one(written: object) -> None:
    assert to_utc(written) == MOMENT


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        True,
        0,
        0.0,
        -1718000000,
        "0",
        "",
        "soon",
        "1970-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2024-13-01",
        "10/06/2024",
        "06/10/2024, 6:13 AM",
        "Mon, 10 Jun 2024 08:13:20 CEST",
        "Mon, 35 Jun 2024 06:13:20 GMT",
        {"$date": "yesterday"},
        {"$date": {"$date": None}},
        float("nan"),
        float("inf"),
        10**400,
        "9" * 400,
        [],
        {"seconds": 1718000000},
    ],
)
def test_what_is_no_moment_of_a_chat_is_no_time(nonsense: object) -> None:
    assert to_utc(nonsense) is None


def test_the_first_time_that_can_be_read_counts_and_one_that_says_nothing_readable_is_reported() -> None:
    problems = Problems()
    assert read_time("a", problems, None, "soon", 1718000000) == MOMENT
    assert read_time("b", problems, None, "", " ", 0, False) is None
    assert problems.counts == {}
    assert read_time("c", problems, None, "10/06/2024") is None
    assert read_time("d", problems, -5, "PRIVATE") is None
    assert [(problem.kind, problem.where) for problem in problems.shown] == [("unread_time", "c"), ("unread_time", "d")]
    assert "PRIVATE" not in repr(problems.shown)


def test_fractions_are_kept_to_the_microsecond() -> None:
    assert to_utc(1718000001.5) == MOMENT + timedelta(seconds=1.5)
    assert to_utc(1718000000123) == MOMENT + timedelta(milliseconds=123)
    assert to_utc(1718000000123457) == MOMENT + timedelta(microseconds=123457)


def test_the_time_zone_of_the_machine_plays_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert to_utc("2024-06-10 06:13:20") == MOMENT
        assert to_utc(1718000000) == MOMENT
    finally:
        monkeypatch.undo()
        time.tzset()


@given(whole_seconds)
def test_a_number_tells_its_own_unit(moment: datetime) -> None:
    seconds = int(moment.timestamp())
    assert [to_utc(seconds * unit) for unit in (1, 10**3, 10**6, 10**9)] == [moment] * 4
    assert to_utc(str(seconds)) == moment


@given(moments, offsets)
def test_a_moment_written_with_any_offset_comes_back(moment: datetime, offset: timezone) -> None:
    assert to_utc(moment.astimezone(offset).isoformat()) == moment
    assert to_utc(moment.replace(tzinfo=None).isoformat(sep=" ")) == moment


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.datetimes(timezones=offsets)))
def test_anything_gives_a_plausible_time_in_utc_or_none(value: object) -> None:
    moment = to_utc(value)
    assert moment is None or (moment.utcoffset() == timedelta(0) and 1971 <= moment.year < 2200)
