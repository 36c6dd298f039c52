import re
from importlib.resources import files

from orbit_pipelines.database.statements import statement

FOLDER = files("orbit_pipelines").joinpath("sql")


def names(*folders: str) -> set[str]:
    return {
        entry.name.removesuffix(".sql") for entry in FOLDER.joinpath(*folders).iterdir() if entry.name.endswith(".sql")
    }


def test_every_statement_has_its_parts() -> None:
    assert names()
    for name in names():
        assert b"{{" not in statement(name), name


def test_every_part_is_used_more_than_once() -> None:
    uses = [
        part
        for name in names()
        for part in re.findall(r"{{(\w+)}}", FOLDER.joinpath(f"{name}.sql").read_text(encoding="utf-8"))
    ]
    assert {part for part in uses if uses.count(part) > 1} == names("parts")
