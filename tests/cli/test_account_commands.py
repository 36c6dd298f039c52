"""What lets somebody into the pages: `orbit account password` and `orbit account admin`."""

from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

from orbit_pipelines.web.passwords import verify_password

Orbit = Any


@pytest.fixture
def mara(orbit: Orbit) -> Orbit:
    """The command line of an installation where Mara has an account."""
    assert orbit("account", "add", "mara").exit_code == 0
    return orbit


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ([], "a long password\na long password\n"),
        (["--password-stdin"], "a long password\n"),
        (["--password-stdin"], "a long password"),
        (["--password-stdin"], "a long password\r\nand more\n"),
    ],
)
def test_a_password_is_asked_for_or_read(
    mara: Orbit, connection: psycopg.Connection[TupleRow], options: list[str], given: str
) -> None:
    result = mara("account", "password", "mara", *options, input=given)

    assert result.exit_code == 0, result.output
    assert "a long password" not in result.output
    [(stored,)] = connection.execute("select password_hash from orbitpilot.account_for_sign_in('mara')").fetchall()
    assert verify_password(stored, "a long password")


def test_a_password_that_is_too_short_is_bad_use(mara: Orbit) -> None:
    result = mara("account", "password", "mara", "--password-stdin", input="short\n")

    assert result.exit_code == 2
    assert "10 to 1,000 characters; this has 5" in result.stderr


@pytest.mark.parametrize("command", ["password", "admin"])
def test_an_account_that_is_not_there_is_bad_use(mara: Orbit, command: str) -> None:
    result = mara("account", command, "nobody", input="a long password\na long password\n")

    assert result.exit_code == 2
    assert "There is no account 'nobody'" in result.stderr


def test_an_account_administers_until_that_is_taken_back(mara: Orbit) -> None:
    said = [mara("account", "admin", "mara", *options).stdout for options in ([], [], ["--revoke"], ["--revoke"])]

    assert said == [
        "mara is an administrator now.\n",
        "mara is an administrator already; nothing changed.\n",
        "mara is no administrator now.\n",
        "mara is no administrator already; nothing changed.\n",
    ]
