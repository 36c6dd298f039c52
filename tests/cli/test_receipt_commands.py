from pathlib import Path

import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.forgetting.kinds import Absence, Depth, Touched
from orbit_pipelines.forgetting.receipt_book import issue_receipt
from orbit_pipelines.forgetting.receipt_content import describe_forget
from orbit_pipelines.forgetting.selection import SelectedSession, Selection, Selectors
from orbit_pipelines.settings import Settings
from tests.cli.conftest import Orbit


@pytest.fixture
def receipts(settings: Settings) -> list[Path]:
    """The files of three receipts."""
    files = []
    with connect(str(settings.database_url), autocommit=True) as connection:
        for session in ("s1", "s2", "s3"):
            content = describe_forget(
                Selectors("ana", sessions=(session,)),
                Selection("ana", ("orbitpilot",), (SelectedSession("orbitpilot", session),)),
                found={"chunks": Touched(2)},
                purged={"chunks": Touched(2)},
                verified={"chunks": Absence(0, Depth.VACUUMED), "cache": Absence(0, Depth.ROWS_DELETED)},
            )
            files.append(issue_receipt(connection, settings, content, user_id="ana").path)
    return files


def test_receipts_are_listed_with_the_least_depth(orbit: Orbit, receipts: list[Path]) -> None:
    listed = orbit.json("receipt", "show")

    assert [(each["number"], each["person"], each["purged"], each["depth"]) for each in listed] == [
        (number, "ana", 2, "vacuumed") for number in (1, 2, 3)
    ]
    assert [each["file"] for each in listed] == [str(path) for path in receipts]
    assert "vacuumed" in orbit("receipt", "show").stdout


def test_an_installation_that_forgot_nothing_says_so(orbit: Orbit) -> None:
    assert orbit("receipt", "show").stdout == "No receipt yet: nothing was forgotten.\n"
    assert orbit.json("receipt", "show") == []


def test_one_receipt_is_printed_as_its_file(orbit: Orbit, receipts: list[Path]) -> None:
    assert orbit("receipt", "show", "2", "--json").stdout == receipts[1].read_text()
    assert orbit("receipt", "show", "9").exit_code == 2


def test_receipts_are_verified_with_no_database(orbit: Orbit, receipts: list[Path], tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text(orbit("receipt", "key").stdout)
    nowhere = {"ORBIT_DATABASE_URL": "postgresql://nobody@localhost:1/none", "ORBIT_HOME": str(tmp_path / "elsewhere")}

    verified = orbit.process("receipt", "verify", *map(str, receipts), "--public-key", str(key), **nowhere)

    assert verified.returncode == 0, verified.stderr
    assert "receipt 3" in verified.stdout
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_verification_does_not_show_is_said(orbit: Orbit, receipts: list[Path]) -> None:
    said = orbit("receipt", "verify", str(receipts[1])).stdout

    assert "The key is the one that the receipt names" in said
    assert "Whether it follows receipt 1 wasn't checked" in said
    assert orbit.json("receipt", "verify", str(receipts[1]))["is_key_given"] is False


def test_what_is_wrong_with_a_receipt_is_said(orbit: Orbit, receipts: list[Path]) -> None:
    gap = orbit("receipt", "verify", str(receipts[0]), str(receipts[2]))
    another = orbit("receipt", "verify", str(receipts[0]), "--public-key", "ab" * 32)
    receipts[0].write_text(receipts[0].read_text().replace('"ana"', '"bob"'))
    changed = orbit("receipt", "verify", str(receipts[0]))
    receipts[0].write_text("Nothing remains.")
    none = orbit("receipt", "verify", str(receipts[0]))
    missing = orbit("receipt", "verify", "nowhere.json")

    assert [each.exit_code for each in (gap, another, changed, none, missing)] == [1, 1, 1, 1, 1]
    assert "The chain has a gap" in gap.stderr
    assert "was signed with another key" in another.stderr
    assert "was changed after it was signed" in changed.stderr
    assert "is no receipt" in none.stderr
    assert "nowhere.json can't be used: No such file" in missing.stderr


def test_the_public_key_is_exported(orbit: Orbit) -> None:
    told = orbit.json("receipt", "key")

    assert told["pem"] == orbit("receipt", "key").stdout
    assert told["pem"].startswith("-----BEGIN PUBLIC KEY-----")
    assert "PRIVATE" not in told["pem"]
