import threading
from typing import Any

import psycopg
import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.errors import OrbitError, ReceiptBroken, UsageError
from orbit_pipelines.forgetting.kinds import Absence, Depth, Touched, TouchedLine
from orbit_pipelines.forgetting.receipt_book import (
    find_file,
    issue_receipt,
    list_receipts,
    read_receipt_of,
    receipt_path,
)
from orbit_pipelines.forgetting.receipt_content import describe_forget
from orbit_pipelines.forgetting.receipt_keys import load_receipt_key, parse_public_key, public_hex, public_pem
from orbit_pipelines.forgetting.receipts import check_receipts, read_receipt, render
from orbit_pipelines.forgetting.selection import SelectedSession, Selection, Selectors
from orbit_pipelines.settings import Settings
from tests.worlds import World


def content(session: str = "s1", **more: Any) -> dict[str, Any]:
    touched = {"chunks": Touched(2, (f"{session}:0",), lines=(TouchedLine("MEMORY.md", 3, "a secret line", False),))}
    return describe_forget(
        Selectors("mara", sessions=(session,)),
        Selection("mara", ("orbitpilot",), (SelectedSession("orbitpilot", session),)),
        found=touched,
        purged=touched,
        verified={"chunks": Absence(0, Depth.ROWS_DELETED)},
        **more,
    )


def test_receipts_are_chained_kept_as_rows_and_written_as_files(world: World) -> None:
    issued = [issue_receipt(world.connection, world.settings, content(s), user_id="mara") for s in ("s1", "s2")]

    files = [read_receipt(each.path.read_bytes(), each.path.name) for each in issued]
    trusted = [public_hex(load_receipt_key(world.settings))]
    assert check_receipts(files, trusted) == files
    assert [each.digest for each in issued] == [receipt.digest for receipt in files]
    assert [receipt.document for receipt in list_receipts(world.connection)] == [receipt.document for receipt in files]
    assert check_receipts(list_receipts(world.connection), trusted)


def test_a_receipt_holds_no_text(world: World) -> None:
    issued = issue_receipt(world.connection, world.settings, content(), user_id="mara")

    assert b"secret" not in issued.path.read_bytes()
    assert world.sql("select receipt::text from memory.forget where receipt::text like '%secret%'") == []


def test_a_receipt_of_an_account_names_the_person_by_a_hash_alone(world: World) -> None:
    issued = issue_receipt(world.connection, world.settings, content(user_hash="ab" * 32), user_id=None)

    assert read_receipt(issued.path.read_bytes(), "a").body["person"] == {"user_hash": "ab" * 32}
    assert world.sql("select user_id from memory.forget") == [(None,)]


def test_receipts_issued_at_once_make_one_chain(world: World) -> None:
    def issue(session: str) -> None:
        with connect(world.url, autocommit=True) as connection:
            issue_receipt(connection, world.settings, content(session), user_id="mara")

    threads = [threading.Thread(target=issue, args=(f"s{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    receipts = list_receipts(world.connection)
    assert [receipt.number for receipt in check_receipts(receipts)] == [1, 2, 3, 4, 5, 6]


def test_a_file_that_went_missing_comes_back_with_the_next_receipt(world: World) -> None:
    first = issue_receipt(world.connection, world.settings, content(), user_id="mara")
    before = first.path.read_bytes()
    first.path.unlink()

    issue_receipt(world.connection, world.settings, content("s2"), user_id="mara")

    assert first.path.read_bytes() == before


def test_no_receipt_of_a_later_database_is_overwritten_after_an_older_one_is_restored(world: World) -> None:
    for session in ("s1", "s2", "s3"):
        issue_receipt(world.connection, world.settings, content(session), user_id="mara")
    later = {path: path.read_bytes() for path in (world.settings.home / "receipts").iterdir()}
    world.sql("delete from memory.forget where number > 1")

    issued = [issue_receipt(world.connection, world.settings, content(s), user_id="mara") for s in ("s4", "s5", "s6")]

    assert [each.number for each in issued] == [2, 3, 4]
    assert [each.beside and each.beside.name for each in issued] == ["receipt-000002.json", "receipt-000003.json", None]
    assert {path: path.read_bytes() for path in later} == later
    receipts = list_receipts(world.connection)
    files = [find_file(world.settings, each.document) for each in receipts]
    assert files[1:] == [each.path for each in issued]
    assert [path.read_bytes() for path in files] == [render(each.document) for each in receipts]
    issued[0].path.unlink()
    issue_receipt(world.connection, world.settings, content("s7"), user_id="mara")
    assert issued[0].path.read_bytes() == render(receipts[1].document)
    assert len(list((world.settings.home / "receipts").iterdir())) == 7


def test_receipts_of_two_chains_are_told_apart(world: World) -> None:
    for session in ("s1", "s2", "s3"):
        issue_receipt(world.connection, world.settings, content(session), user_id="mara")
    world.sql("delete from memory.forget where number > 1")
    for session in ("s4", "s5", "s6"):
        issue_receipt(world.connection, world.settings, content(session), user_id="mara")
    files = sorted((world.settings.home / "receipts").iterdir())
    receipts = [read_receipt(path.read_bytes(), path.name) for path in files]
    new = {each.digest for each in list_receipts(world.connection)}

    with pytest.raises(ReceiptBroken, match="2 chains, parting after number 1") as caught:
        check_receipts(receipts)

    told = str(caught.value)
    assert "receipt-000002.json, receipt-000003.json;" in told or "; receipt-000002.json, receipt-000003.json." in told
    assert check_receipts([each for each in receipts if each.digest in new])
    assert check_receipts([each for each in receipts if each.digest not in new or each.number == 1])
    with pytest.raises(ReceiptBroken, match="same receipt"):
        check_receipts([*receipts[:1], *receipts[:1]])


def test_a_receipt_can_be_printed_as_its_file_holds_it(world: World) -> None:
    issued = issue_receipt(world.connection, world.settings, content(), user_id="mara")

    assert render(read_receipt_of(world.connection, 1)) == issued.path.read_bytes()
    with pytest.raises(UsageError, match="There is no receipt 2"):
        read_receipt_of(world.connection, 2)


def test_a_receipt_that_cannot_be_kept_leaves_no_file(world: World) -> None:
    world.sql("alter table memory.forget add constraint none check (number < 1)")

    with pytest.raises(psycopg.errors.CheckViolation):
        issue_receipt(world.connection, world.settings, content(), user_id="mara")
    assert not receipt_path(world.settings, 1).exists()


def test_the_key_is_made_once_for_its_owner_alone(settings: Settings) -> None:
    key = public_hex(load_receipt_key(settings))

    assert public_hex(load_receipt_key(settings)) == key
    assert (settings.home / "receipt.key").stat().st_mode & 0o777 == 0o600


def test_a_key_file_that_holds_none_is_named(settings: Settings) -> None:
    settings.home.mkdir()
    (settings.home / "receipt.key").write_text("no key")

    with pytest.raises(OrbitError, match=r"receipt\.key holds no receipt key"):
        load_receipt_key(settings)


def test_a_public_key_is_given_as_digits_or_as_a_file(settings: Settings) -> None:
    key = load_receipt_key(settings)
    pem, digits = settings.home / "key.pem", settings.home / "key.hex"
    pem.write_text(public_pem(key))
    digits.write_text(f"{public_hex(key)}\n")

    for given in (public_hex(key), public_hex(key).upper(), str(pem), str(digits)):
        assert parse_public_key(given) == public_hex(key)


@pytest.mark.parametrize("content", ["", "-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n", "\x00"])
def test_what_is_no_public_key_is_refused(settings: Settings, content: str) -> None:
    settings.home.mkdir()
    file = settings.home / "key.pem"
    file.write_text(content)

    with pytest.raises(UsageError, match="holds no Ed25519 public key"):
        parse_public_key(str(file))
    with pytest.raises(UsageError, match="is no public key, and no file"):
        parse_public_key("key")
