"""Receipts of forgets: `orbit receipt show`, `orbit receipt verify`, `orbit receipt key`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbit_pipelines.cli.options import AsJson

if TYPE_CHECKING:
    from orbit_pipelines.forgetting.receipts import Receipt

app = typer.Typer()
receipt = typer.Typer(no_args_is_help=True)
app.add_typer(receipt, name="receipt", rich_help_panel="Forgetting")


@receipt.callback()
def receipt_command() -> None:
    """What forgets leave as their proof: list receipts, check them, export the key."""


@receipt.command("show")
def show_command(
    number: Annotated[
        int | None, typer.Argument(metavar="[NUMBER]", min=1, help="Print this one, as its file holds it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the receipts of forgets, or print one.

    Example: orbit receipt show
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, printable, show, table
    from orbit_pipelines.forgetting.receipt_book import find_file, list_receipts, read_receipt_of
    from orbit_pipelines.forgetting.receipts import render
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    with open_database(settings) as connection:
        if number is not None:
            typer.echo(render(read_receipt_of(connection, number)), nl=False)
            return
        receipts = list_receipts(connection)
    told = [_listed(each) | {"file": str(find_file(settings, each.document))} for each in receipts]
    if as_json:
        print_json(told)
    elif not told:
        show("No receipt yet: nothing was forgotten.")
    else:
        columns = ("receipt", "issued", "person", "sessions", "purged", "depth")
        listed = table(*columns, numbers=["receipt", "sessions", "purged"], whole=["issued"])
        for each in told:
            person = each["person"] or "an account, whole"
            listed.add_row(
                str(each["number"]),
                f"{each['issued_at'][:19]}Z",
                printable(person),
                f"{each['sessions']:,}",
                f"{each['purged']:,}",
                str(each["depth"]),
            )
        show(
            listed,
            "",
            "Depth: at least, of the kinds that lost something. One whole, by kind: orbit receipt show NUMBER",
        )


@receipt.command("verify")
def verify_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Receipts to check; several must follow one another.")
    ],
    public_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--public-key",
            metavar="KEY",
            help="Who must have signed: 64 hex digits or a file, from `orbit receipt key`. May be given again.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that receipts are as they were signed, and follow one another. Needs no database.

    Fails (exit code 1) at the first thing that is wrong.

    Example: orbit receipt verify receipt-000001.json --public-key receipt-key.pem
    """
    from orbit_pipelines.cli.output import print_json, show
    from orbit_pipelines.forgetting.receipt_keys import parse_public_key
    from orbit_pipelines.forgetting.receipts import check_receipts, read_receipt

    trusted = [parse_public_key(each) for each in public_keys or ()]
    checked = check_receipts([read_receipt(path.read_bytes(), str(path)) for path in files], trusted)
    if as_json:
        print_json(
            {
                "receipts": [
                    {name: getattr(each, name) for name in ("name", "number", "digest", "public_key")}
                    | {"issued_at": each.body["issued_at"]}
                    for each in checked
                ],
                "is_key_given": bool(trusted),
                "previous": checked[0].body["previous"],
            }
        )
    else:
        show("\n".join([*(_verdict(each) for each in checked), *_reservations(checked, bool(trusted))]))


@receipt.command("key")
def key_command(as_json: AsJson = False) -> None:
    """Print the public key of this installation's receipts, for whoever checks them.

    Example: orbit receipt key
    """
    from orbit_pipelines.cli.output import print_json
    from orbit_pipelines.forgetting.receipt_keys import load_receipt_key, public_hex, public_pem
    from orbit_pipelines.settings import load_settings

    key = load_receipt_key(load_settings())
    if as_json:
        print_json({"algorithm": "Ed25519", "hex": public_hex(key), "pem": public_pem(key)})
    else:
        typer.echo(public_pem(key), nl=False)


def _listed(receipt: "Receipt") -> dict[str, Any]:
    from orbit_pipelines.forgetting.receipts import depths_of, least_depth

    body = receipt.body
    return {
        "number": receipt.number,
        "issued_at": body["issued_at"],
        "person": body["person"].get("user_id"),
        "sessions": len(body["selected"]["sessions"]),
        "purged": sum(each["count"] for each in body["purged"].values()),
        "depth": least_depth(receipt),
        "depths": depths_of(receipt),
        "digest": receipt.digest,
    }


def _verdict(receipt: "Receipt") -> str:
    return (
        f"{receipt.name}: receipt {receipt.number} of {receipt.body['issued_at']} is as it was signed, "
        f"by the key {receipt.public_key}."
    )


def _reservations(receipts: list["Receipt"], is_key_given: bool) -> list[str]:
    lines = []
    if not is_key_given:
        lines.append(
            "The key is the one that the receipt names: whoever made it up could have named theirs. Get the "
            "installation's own (orbit receipt key) by another road, and give it with --public-key."
        )
    if receipts[0].number > 1:
        before = receipts[0].number - 1
        lines.append(f"Whether it follows receipt {before} wasn't checked: give that file too.")
    lines.append("Whether later receipts exist can't be told from these.")
    return lines
