"""A folder of peers, as small as one can be."""

import sys
from pathlib import Path

import pytest

from orbit_pipelines.bench.measurements import PeerMeasured
from orbit_pipelines.bench.peers import Peers, find_peers, run_peers
from orbit_pipelines.errors import BenchFailed

RUN = """
import argparse, json, os, tempfile
PEERS = {"cocoindex": ("swift", "swift.py"), "other": ("base", "other.py"), "absent": ("absent", "absent.py")}
SIZES = {"S": 2_000, "M": 20_000}
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--peer", "--size", "--repeat", "--out"):
        parser.add_argument(option)
    given = parser.parse_args()
    open(os.path.join(tempfile.gettempdir(), "corpus"), "w").close()
    check = {"rows": 9, "missing": 0, "extra": 1_003, "ok": False}
    counted = {"embed_texts": 7, "tup_ins": 6, "tup_upd": 2, "tup_del": 1}
    measured = {"wall_s": 2.5, "wal_mib": 1.5, "rss_mib": 80, **counted}
    records = [
        {"peer": given.peer, "step": "W1", **measured, "check": check | {"extra": 0, "ok": True}},
        {"peer": given.peer, "step": "W3", **measured, "check": check},
        {"peer": given.peer, "step": "W4", "error": f"no more at {given.size} of {os.environ['BENCH_DSN']}"},
    ]
    with open(given.out, "w") as out:
        json.dump(records * int(given.repeat), out)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "run.py").write_text(RUN)
    return tmp_path / "peers"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the folder's setup prints: two of its three environments are there."""
    for name in ("base", "swift"):
        python = tmp_path / "venvs" / f"venv-{name}" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
    return {"BENCH_VENVS": str(tmp_path / "venvs"), "BENCH_DSN": "postgresql://there/postgres"}


def test_peers_are_the_usual_ones_that_are_set_up_or_those_asked_for(folder: Path, environment: dict[str, str]) -> None:
    found = find_peers(folder, (), environment)
    assert found.names == ("cocoindex",)
    assert found.sizes == {2_000: "S", 20_000: "M"}
    assert found.server_url == "postgresql://there/postgres"
    assert find_peers(folder, ("other",), environment).names == ("other",)


@pytest.mark.parametrize(
    ("chosen", "removed", "complaint"),
    [
        (("nobody",), "", "knows no such peer. Ready are: cocoindex, other"),
        (("absent",), "", "virtual environment is missing"),
        ((), "BENCH_DSN", "BENCH_DSN not in the environment. Run its setup.sh"),
        ((), "BENCH_VENVS", "BENCH_VENVS not in the environment"),
    ],
)
def test_what_is_missing_is_said(
    folder: Path, environment: dict[str, str], chosen: tuple[str, ...], removed: str, complaint: str
) -> None:
    environment.pop(removed, None)
    with pytest.raises(BenchFailed, match=complaint):
        find_peers(folder, chosen, environment)


def test_a_folder_without_a_run_is_refused(tmp_path: Path, environment: dict[str, str]) -> None:
    with pytest.raises(BenchFailed, match="holds no run"):
        find_peers(tmp_path, (), environment)
    (tmp_path / "run.py").touch()
    with pytest.raises(BenchFailed, match="no venv-base"):
        find_peers(tmp_path, (), environment | {"BENCH_VENVS": str(tmp_path)})


def test_peers_run_at_the_sizes_they_have_and_leave_nothing_outside_the_given_folder(
    folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    peers: Peers = find_peers(folder, ("cocoindex", "other"), environment)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    said: list[str] = []
    measured = run_peers(peers, scratch, [2_000, 200], repeats=1, announce=said.append)
    assert said == ["2,000 pairs: cocoindex", "2,000 pairs: other"]
    first = PeerMeasured("cocoindex", "W1", 2_000, 2.5, 8, 3, 7, 3 * 2**19, 80)
    assert measured[0] == first
    assert measured[1].trouble == "1,003 extra"
    assert measured[2].seconds is None
    assert measured[2].trouble == "failed: no more at S of postgresql://there/postgres"
    assert [each.peer for each in measured] == ["cocoindex"] * 3 + ["other"] * 3
    assert (scratch / "corpus").exists()
    assert [path.name for path in folder.iterdir()] == ["run.py"]


def test_a_peer_folder_that_fails_says_why(folder: Path, environment: dict[str, str], tmp_path: Path) -> None:
    peers = find_peers(folder, ("cocoindex",), environment)
    (folder / "run.py").write_text("raise SystemExit('no space for the corpus')\n")
    with pytest.raises(BenchFailed, match="no space for the corpus"):
        run_peers(peers, tmp_path, [2_000], repeats=1)
