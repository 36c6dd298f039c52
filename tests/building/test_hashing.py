import hmac
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from orbit_pipelines.building.hashing import content_hashes, key_fingerprint, load_hash_key
from orbit_pipelines.errors import OrbitError, UsageError
from orbit_pipelines.key_files import derive_key
from orbit_pipelines.settings import Settings

KEY = bytes(range(32))
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(deadline=None)
@given(st.lists(TEXT | st.none()), st.binary(min_size=1, max_size=64))
def test_a_content_hash_is_the_hmac_of_the_texts_utf8(texts: list[str | None], key: bytes) -> None:
    hashes = content_hashes(pl.Series("content", texts, dtype=pl.String), key)
    assert hashes.name == "content"
    assert hashes.dtype == pl.Binary
    assert hashes.to_list() == [None if text is None else hmac.digest(key, text.encode(), "sha256") for text in texts]


def test_another_key_gives_another_hash() -> None:
    texts = pl.Series(["yes"])
    assert content_hashes(texts, KEY)[0] != content_hashes(texts, KEY[::-1])[0]


def test_each_purpose_has_its_own_key() -> None:
    keys = {KEY, derive_key(KEY, "session_id"), derive_key(KEY, "receipt"), derive_key(KEY[::-1], "session_id")}
    assert len(keys) == 4
    assert {len(key) for key in keys} == {32}


@settings(deadline=None)
@given(TEXT)
def test_no_text_hashes_to_a_derived_key(purpose: str) -> None:
    assert content_hashes(pl.Series([purpose]), KEY)[0] != derive_key(KEY, purpose)


def test_the_fingerprint_tells_keys_apart_and_not_the_key() -> None:
    assert key_fingerprint(KEY) == key_fingerprint(KEY)
    assert key_fingerprint(KEY) != key_fingerprint(KEY[::-1])
    assert len(key_fingerprint(KEY)) == 16
    assert key_fingerprint(KEY) not in KEY.hex()


def test_the_configured_key_is_used(tmp_path: Path) -> None:
    assert load_hash_key(Settings(home=tmp_path, hash_key=SecretStr(KEY.hex()))) == KEY
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["", "abc", "z" * 64, "00" * 33])
def test_a_configured_key_that_is_none_is_refused_without_showing_it(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError, match="ORBIT_HASH_KEY must be 64 hex digits") as refused:
        load_hash_key(Settings(home=tmp_path, hash_key=SecretStr(given)))
    assert not given or given not in str(refused.value)


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "new" / "home")
    key = load_hash_key(settings)
    assert load_hash_key(settings) == key
    assert len(key) == 32
    assert [path.name for path in settings.home.iterdir()] == ["hash.key"]
    assert (settings.home / "hash.key").stat().st_mode & 0o777 == 0o600


def _load(home: Path) -> bytes:
    return load_hash_key(Settings(home=home))


def test_processes_that_make_a_key_at_once_agree_on_it(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        for attempt in range(5):
            homes = [tmp_path / str(attempt)] * 8
            assert len(set(pool.map(_load, homes))) == 1
            assert len(list(homes[0].iterdir())) == 1


def test_a_file_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    key = load_hash_key(settings)
    (tmp_path / "hash.key").chmod(0o644)
    assert load_hash_key(settings) == key
    assert (tmp_path / "hash.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "abc\n", "\x00\xff" * 32, "0" * 2000])
def test_a_file_that_holds_no_key_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "hash.key").write_text(content)
    with pytest.raises(OrbitError, match=r"hash\.key holds no hash key"):
        load_hash_key(Settings(home=tmp_path))


def test_a_folder_in_the_files_place_is_explained(tmp_path: Path) -> None:
    (tmp_path / "hash.key").mkdir()
    with pytest.raises(OrbitError, match="can't be used: Is a directory"):
        load_hash_key(Settings(home=tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OrbitError, match="Permission denied"):
        load_hash_key(Settings(home=tmp_path))
