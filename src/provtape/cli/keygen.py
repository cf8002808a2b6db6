"""`provtape keygen`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def keygen(
    name: Annotated[str, typer.Option(help="The key's name: a domain and words, e.g. lab.example/alice.")],
    out: Annotated[
        Path, typer.Option(help="The private key's file; the public one is put beside it as .pub.")
    ],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase to protect the file.")
    ] = False,
) -> int:
    """Make a signing key: a private file (mode 0600) and a public one, printed in three spellings.

    Example: provtape keygen --name lab.example/alice --out ~/alice.key
    """
    from provtape.provenance import keyfile

    secret = None
    if passphrase:
        secret = str(typer.prompt("passphrase", hide_input=True, confirmation_prompt=True, err=True)).encode()
    public = keyfile.generate(out.expanduser(), name, passphrase=secret)
    typer.echo(
        f"private key: {out}  (keep it; it is not encrypted)" if not passphrase else f"private key: {out}"
    )
    typer.echo(f"public key:  {keyfile.public_path(out)}\n")
    typer.echo(f"vkey, for papers and `provtape verify --pubkey`:\n{public.vkey}\n")
    typer.echo(f"PEM, for openssl:\n{public.pem}")
    typer.echo(f"ssh:\n{public.ssh}\n")
    typer.echo(f"fingerprint (SHA-256 of the DER key):\n{public.fingerprint}")
    return 0
