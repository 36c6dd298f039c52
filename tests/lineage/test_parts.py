from pathlib import Path

import pytest

from orbit_pipelines.lineage.parts import Part, StoredPart, live_parts, name_part, replacing
from orbit_pipelines.lineage.tables import BUILDS


def stored(month: str, first: int, last: int) -> StoredPart:
    return StoredPart(Part(month, first, last), {BUILDS.name: 1})


@pytest.mark.parametrize("part", [Part("2026-11", 7, 7), Part("2026-11", 1, 12), Part("2031-01", 1_234_567, 2_000_000)])
def test_a_part_is_named_by_its_path(part: Part, tmp_path: Path) -> None:
    assert name_part(part.path(tmp_path, BUILDS)) == part


@pytest.mark.parametrize(
    "path", ["builds/empty.parquet", "builds/part-000001.parquet", "builds/month=2026-11/part-000001.parquet.new"]
)
def test_other_files_are_no_parts(path: str) -> None:
    assert name_part(Path(path)) is None


@pytest.mark.parametrize(
    ("parts", "live"),
    [
        ([stored("2026-10", 1, 1), stored("2026-10", 2, 2)], [0, 1]),
        ([stored("2026-10", 1, 1), stored("2026-10", 2, 2), stored("2026-10", 1, 2)], [2]),
        ([stored("2026-10", 1, 4), stored("2026-10", 1, 9), stored("2026-10", 10, 10)], [1, 2]),
        ([stored("2026-10", 1, 9), stored("2026-11", 3, 3)], [0, 1]),
    ],
)
def test_a_part_counts_until_a_merged_one_of_its_month_holds_it(parts: list[StoredPart], live: list[int]) -> None:
    assert live_parts(parts) == [parts[index] for index in live]


def test_a_file_that_is_interrupted_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the ne")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
