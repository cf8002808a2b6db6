"""What the tour has published before its attacks, made by its own benchmark script with a stand-in for the model."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from provtape.cassette.notes import Signer
from provtape.demo import tour
from provtape.demo.attacks import CASSETTE, NAME, RESULT, SCRIPT
from provtape.format.keys import PublicKey
from provtape.provenance import keyfile
from provtape.session import Call
from provtape.signing import sign

ANSWERS = ("It's Paris.", 'I say "5".', "\nCold", "A cat", "Venus", "Pluto", "Mars\u2028")


def bench(folder: Path, *answers: str) -> ModuleType:
    """The benchmark script in a folder, as a module; its model says these answers, one after the other."""
    spec = spec_from_file_location("bench", folder / SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    ready = iter(answers)

    def live(call: Call) -> str:
        return next(ready)

    vars(module)["live"] = live
    return module


def published(folder: Path, *answers: str) -> Path:
    """Prepare a tour's folder and bring it to where the model is stopped: recorded, scored, signed."""
    tour.prepare(folder)
    bench(folder / tour.PUBLISHED, *(answers or ANSWERS)).main("record")
    keyfile.generate(folder / tour.KEY, NAME)
    private = keyfile.load(folder / tour.KEY)
    signer = Signer(NAME, PublicKey(private.public, NAME), private.sign)
    cassette = folder / tour.PUBLISHED / CASSETTE
    sign(cassette, signer, [cassette.with_name(RESULT)], clock=lambda: datetime.now(UTC))
    return folder
