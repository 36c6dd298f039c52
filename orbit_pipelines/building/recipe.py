"""Everything that shapes a chunk, and its fingerprint."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

TEXT_FORMAT = 2
"""How a record becomes text: its parts without quotations, joined by a blank line. A higher number is another way."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way of making chunks; two builds with equal fingerprints make equal chunks of equal history."""

    model: str
    dimensions: int
    chunker: str
    text_format: int = TEXT_FORMAT

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that name this recipe in ``memory.recipe``."""
        return hashlib.sha256(json.dumps(self.details(), sort_keys=True).encode()).hexdigest()[:16]

    def details(self) -> dict[str, Any]:
        """Return what the fingerprint is made of."""
        return {
            "model": self.model,
            "dimensions": self.dimensions,
            "chunker": self.chunker,
            "text_format": self.text_format,
        }

    def register(self, connection: psycopg.Connection[Any]) -> None:
        """Make the recipe known to the database; a known one is left alone."""
        connection.execute(
            "insert into memory.recipe (recipe, model, dimensions, details)"
            " select %(recipe)s, %(model)s, %(dimensions)s, %(details)s"
            "  where not exists (select from memory.recipe where recipe = %(recipe)s)"
            "     on conflict do nothing",
            {
                "recipe": self.fingerprint,
                "model": self.model,
                "dimensions": self.dimensions,
                "details": Jsonb(self.details()),
            },
        )
