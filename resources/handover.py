"""Nothing is handed from step to step by value: Dagster's default would pickle chat text into its own folder."""

from typing import Any, Never

import dagster as dg

_REFUSAL = (
    "A value was about to be handed over through Dagster's storage, where message text must not lie. Write a frame "
    "into the build's workspace, and return a MaterializeResult."
)


class NoHandOver(dg.ConfigurableIOManager):
    """Refuses every value."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> Never:
        """Store nothing."""
        raise dg.DagsterInvariantViolationError(_REFUSAL)

    def load_input(self, context: dg.InputContext) -> Never:
        """Load nothing."""
        raise dg.DagsterInvariantViolationError(_REFUSAL)
