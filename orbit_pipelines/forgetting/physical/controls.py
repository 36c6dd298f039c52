"""Controls: what the search must find, and what it can't, planted in a table of its own and deleted again.

A search that finds nothing proves nothing by itself: it may look in the wrong place, or for the wrong bytes.
"""

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg import sql

from orbit_pipelines.database.vectors import to_wire
from orbit_pipelines.forgetting.physical.needles import text_needles, vector_needles
from orbit_pipelines.forgetting.physical.rewriting import rewrite
from orbit_pipelines.forgetting.physical.searching import Searcher, find_in_blocks
from orbit_pipelines.forgetting.physical.server_files import flush, list_files, read_blocks

_WORDS = (
    *("amber", "basil", "cedar", "dune", "ember", "fjord", "gorge", "heron", "isle", "jade", "kelp", "larch", "moss"),
    *("nook", "oak", "pine", "quay", "reef", "sage", "tarn", "umber", "vale", "wren", "yew", "zinc"),
)


@dataclass(frozen=True, slots=True)
class Controls:
    """What became of the controls.

    ``found``: those that must be found, each with whether it was, after its row had been deleted. ``unseen``: the one
    that no search can see, with whether it really wasn't found. ``gone``: whether none was left once the table had been
    written anew.
    """

    found: dict[str, bool]
    unseen: dict[str, bool]
    gone: bool

    @property
    def is_sound(self) -> bool:
        """Whether the search can be believed."""
        return all(self.found.values()) and all(self.unseen.values()) and self.gone

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {"found": self.found, "unseen": self.unseen, "gone_after_rewriting": self.gone}


def try_controls(connection: psycopg.Connection[Any]) -> Controls:
    """Plant, delete, look, write anew, look again; nothing of it stays.

    Args:
        connection: in autocommit, of a role that may read the server's files.
    """
    table = f"memory.forget_control_{secrets.token_hex(4)}"
    name = sql.Identifier(*table.split("."))
    plain, repeated = secrets.token_urlsafe(300), f"{secrets.token_hex(3)} " * 600
    prose = " ".join(secrets.choice(_WORDS) for _ in range(900))
    prose = f"{secrets.token_urlsafe(24)} {prose}"
    vector = np.random.default_rng().standard_normal((1, 384)).astype("f4")
    [wire] = to_wire(vector).to_list()
    content_hash = secrets.token_bytes(32)
    try:
        connection.execute(
            sql.SQL("create table {} (content text, content_hash bytea, embedding halfvec)").format(name)
        )
        connection.execute(
            sql.SQL("create index on {} (content_hash)").format(name),
        )
        for content in (plain, prose, repeated):
            connection.execute(
                sql.SQL("insert into {} values (%s, %s, %s)").format(name),
                [content, content_hash, HalfVector(vector[0])],
            )
        compressed = {
            row[0]: row[1]
            for row in connection.execute(
                sql.SQL("select content, pg_column_compression(content) from {}").format(name)
            )
        }
        connection.execute(sql.SQL("delete from {}").format(name))
        must = {
            "text": text_needles(plain, is_compressed=False),
            "hash": (content_hash,),
            "vector": vector_needles(wire),
            "compressed text": text_needles(prose, is_compressed=compressed[prose] is not None),
        }
        cannot = {"compressed text that repeats itself": text_needles(repeated, is_compressed=False)}
        before = _look(connection, table, [*must.values(), *cannot.values()])
        rewrite(connection, [table])
        after = _look(connection, table, [*must.values(), *cannot.values()])
    finally:
        connection.execute(sql.SQL("drop table if exists {}").format(name))
    return Controls(
        {what: any(each in before for each in needles) for what, needles in must.items()},
        {what: not any(each in before for each in needles) for what, needles in cannot.items()},
        not after,
    )


def _look(connection: psycopg.Connection[Any], table: str, needles: list[tuple[bytes, ...]]) -> set[bytes]:
    flush(connection)
    searcher = Searcher(each for group in needles for each in group)
    found: set[bytes] = set()
    for file in list_files(connection, [table]):
        found |= find_in_blocks(searcher, read_blocks(connection, file))
    return found
