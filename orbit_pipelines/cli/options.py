"""Options that many commands share, said once."""

from typing import Annotated

import typer

User = Annotated[str, typer.Option("--user", metavar="USER", help="Whose memory: the account's user id.")]
Agent = Annotated[str, typer.Option("--agent", metavar="AGENT", help="Which assistant's memory of that person.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts, and nothing else.")]
Session = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
Message = Annotated[str, typer.Argument(metavar="MESSAGE", help="The message's own id, as `orbit pairs` shows it.")]
Plan = Annotated[str, typer.Argument(metavar="PLAN", help="The plan's key.")]
Source = Annotated[str, typer.Argument(metavar="SOURCE", help="The source's key, such as orbitpilot.chat_history.")]
