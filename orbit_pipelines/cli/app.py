"""The ``orbit`` command: its families put together, and what happens when one of them fails.

Commands import what they need when they run, because ``orbit --help`` must answer at once.
"""

import logging
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from orbit_pipelines.cli import (
    accounts,
    admission,
    bench,
    builds,
    demo,
    forgetting,
    importing,
    pairs,
    plans,
    receipts,
    records,
    services,
    verifying,
)
from orbit_pipelines.cli.failures import be_quiet, explain, is_pipe_closed


class OrbitGroup(TyperGroup):
    """The root of all commands: turns whatever one raises into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, TyperException):
            raise
        except Exception as error:
            if is_pipe_closed(error):
                be_quiet()
                raise typer.Exit(1) from None
            if ctx.params.get("debug"):
                raise
            message, exit_code = explain(error)
            typer.secho("Error: ", fg="red", err=True, nl=False)
            typer.echo(message, err=True)
            raise typer.Exit(exit_code) from None


app = typer.Typer(
    cls=OrbitGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for family in (
    demo,
    builds,
    importing,
    records,
    pairs,
    accounts,
    plans,
    admission,
    forgetting,
    verifying,
    receipts,
    services,
    bench,
):
    app.add_typer(family.app)


@app.callback()
def root(
    debug: Annotated[
        bool, typer.Option("--debug", envvar="ORBIT_DEBUG", help="Show the trace of what fails; it may show text.")
    ] = False,
) -> None:
    """Keep an assistant's long-term memory honest.

    Start here: orbit demo
    """
    # Libraries' warnings, such as each retry of a lost connection, are not for a person's terminal.
    shown = logging.StreamHandler()
    shown.setLevel(logging.WARNING if debug else logging.CRITICAL)
    logging.basicConfig(handlers=[shown])


def main() -> None:
    """Run the command line."""
    app()
