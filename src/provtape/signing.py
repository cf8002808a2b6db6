"""Signing a cassette: verify, seal, note, manifest (DESIGN 2.2, 2.3).

Decides in which order evidence comes to be, and what is refused: a cassette that does not hold, dirty code that nobody asked to
sign, files that a reviewer could not find. Whether a key may be read is `provenance.keyfile`'s matter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from provtape.cassette import notes
from provtape.cassette.lock import lock, unlock
from provtape.cassette.notes import Signer
from provtape.cassette.reader import lines, open_regular, read_small
from provtape.cassette.writer import Writer
from provtape.errors import CassetteError, SigningError
from provtape.format import envelope, strict
from provtape.format.manifest import Entry, Subject, is_subject_name, statement
from provtape.format.record import Code, Object, check_record
from provtape.format.recorder import RECORDER
from provtape.format.stamp import stamp
from provtape.format.suffix import BESIDE, MANIFEST, PATCH
from provtape.format.verdict import Verdict
from provtape.provenance import worktree
from provtape.scrub.door import Door
from provtape.scrub.rules import Rules, parse
from provtape.verify import verify
from provtape.verify.case import Question
from provtape.verify.evidence import beside, digest_below

_NOT_OURS: Final = frozenset(
    ("trust.no-key", "trust.stranger", "trust.no-evidence", "trust.no-manifest", "cassette.open")
)
_MENDED: Final = frozenset(("cassette.torn", "checkpoint.torn"))

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Signed:
    """What signing did: the verdict under the signer's own key, the manifest, and what was written besides."""

    verdict: Verdict
    manifest: Path
    sealed_now: bool
    torn: int
    torn_note: int = 0
    patch: Path | None = None


def sign(
    cassette: Path,
    signer: Signer,
    results: Sequence[Path] = (),
    *,
    clock: Clock,
    allow_dirty: bool = False,
    directory: Path | None = None,
    workers: int = 1,
) -> Signed:
    """Seal a cassette if it is open, add a checkpoint and a manifest line by this signer.

    Args:
        cassette: The cassette.
        signer: Who signs.
        results: Files to bind; each lies in the cassette's folder or below it.
        clock: The time in UTC.
        allow_dirty: Sign although the code was not the commit's; its patch is written and bound.
        directory: Where the code is, for that patch; the working directory by default.
        workers: As in `verify`.

    Raises:
        SigningError: The cassette does not hold, the code is dirty, or a file can not be bound.
        CassetteError: It can not be sealed.
    """
    question = Question((signer.public,))
    before = _facts(_acceptable(verify(cassette, question, workers=workers)))
    manifest = cassette.with_name(cassette.name + MANIFEST)
    if beside(cassette, MANIFEST):
        if results:
            raise SigningError(
                "the manifest is there already and its files are fixed", "sign again without --result"
            )
        return _second(cassette, manifest, signer, before, workers)
    if not is_subject_name(cassette.name):
        raise SigningError(
            "the cassette's own name can not stand in a manifest", "use letters, digits, `.`, `_`, `-`"
        )
    names = _names(cassette, results)
    patch = _patch(cassette, before, allow_dirty, directory or Path.cwd())
    if patch:
        names.append(_name(cassette, patch))
    door = Door(_rules(cassette))
    door.manifest(_statement(cassette, before, names, stamp(clock())))  # refuses before anything is sealed
    writer = _seal(cassette, signer, door, before, clock)
    after = _facts(_acceptable(verify(cassette, question, workers=workers)))
    payload = door.manifest(_statement(cassette, after, names, stamp(clock()))).data
    with _alone(cassette):
        if beside(cassette, MANIFEST):
            raise SigningError("somebody else has just signed this cassette", "sign again to add your line")
        _write(manifest, _line(payload, signer))
    verdict = _checked(cassette, question, workers)
    if writer is None:
        return Signed(verdict, manifest, False, 0, 0, patch)
    return Signed(verdict, manifest, True, writer.torn, writer.torn_note, patch)


def _second(cassette: Path, manifest: Path, signer: Signer, facts: Object, workers: int) -> Signed:
    """One more line under the same payload, and one more note."""
    with _alone(cassette):
        data = read_small(manifest, envelope.MAX_FILE)
        found = envelope.parse_file(data)
        if signer.public.fingerprint in {line.keyid for line in found}:
            raise SigningError("this key has signed the manifest already")
        _note(cassette, signer, facts)
        _write(manifest, data + _line(found[0].payload, signer))
    return Signed(_checked(cassette, Question((signer.public,)), workers), manifest, False, 0)


@contextmanager
def _alone(cassette: Path) -> Iterator[None]:
    """While nobody else writes or signs: two signers at one time must not lose a line.

    Raises:
        CassetteLocked: Somebody else does.
    """
    with open_regular(cassette) as file:
        lock(file.fileno(), cassette.name)
        try:
            yield
        finally:
            unlock(file.fileno())


def _acceptable(verdict: Verdict) -> Verdict:
    """The verdict, if nothing but trust and an end is missing."""
    for finding in verdict.findings:
        if finding.code not in _NOT_OURS | _MENDED:
            raise SigningError(f"not signed: {finding.message}", finding.hint, finding.code)
    return verdict


def _checked(cassette: Path, question: Question, workers: int) -> Verdict:
    verdict = verify(cassette, question, workers=workers)
    if not verdict.verified:
        finding = verdict.findings[0]
        raise SigningError(
            f"signed, but the result does not verify: {finding.message}", finding.hint, finding.code
        )
    return verdict


def _facts(verdict: Verdict) -> Object:
    cassettes = verdict.facts["cassettes"]
    if not isinstance(cassettes, list) or len(cassettes) != 1:
        raise SigningError("not a cassette", "give the cassette, not its manifest")
    facts: Object = cassettes[0]
    return facts


def _seal(cassette: Path, signer: Signer, door: Door, facts: Object, clock: Clock) -> Writer | None:
    """The writer that sealed it, closed; None if it was sealed before."""
    if facts["sealed"]:
        _note(cassette, signer, facts)
        return None
    writer = Writer.reopen(cassette, signer=signer)
    writer.seal(door.record("end", {"closed": stamp(clock()), "meta": {}}))
    return writer


def _note(cassette: Path, signer: Signer, facts: Object) -> None:
    """A note over the whole sealed cassette, unless this key has one."""
    records, covers = facts["records"], facts["covers"]
    if isinstance(covers, list) and covers[0]["records"] == records:
        return
    notes.add(cassette, signer, str(facts["origin"]), int(str(records)), bytes.fromhex(str(facts["root"])))


def _statement(cassette: Path, facts: Object, names: Sequence[str], created: str) -> Object:
    runs, scrub = facts["runs"], facts["scrub"]
    if not isinstance(runs, list) or not isinstance(scrub, dict):
        raise SigningError("not a cassette")
    entry = Entry(
        cassette.name,
        str(facts["origin"]),
        int(str(facts["records"])),
        str(facts["root"]),
        runs[-1]["code"],
        scrub,
    )
    subjects = [Subject(cassette.name, str(facts["sha256"]))]
    subjects += [Subject(name, _digest(cassette.parent, name)) for name in names]
    return statement(subjects, [entry], recorder=RECORDER, created=created)


def _digest(folder: Path, name: str) -> str:
    digest = digest_below(folder, name)
    if digest is None:
        raise SigningError(
            f"{name} is no regular file below the cassette's folder", "links are not followed; copy it there"
        )
    return digest


def _names(cassette: Path, results: Sequence[Path]) -> list[str]:
    """The names of the files to bind; none that can not be what its author means by a result."""
    names = [_name(cassette, result) for result in results]
    if len({name.lower() for name in names}) != len(names):
        raise SigningError("a file is to be bound twice", "names that differ in case only are one name")
    for name, result in zip(names, results, strict=True):
        if name.lower() in {f"{cassette.name}{suffix}".lower() for suffix in BESIDE}:
            raise SigningError(f"{name} is evidence, not a result")
        with open_regular(result) as file:
            if b"PRIVATE KEY-----" in file.read(4096):
                raise SigningError(f"{name} is a private key, not a result", "name the file of results")
    return names


def _name(cassette: Path, file: Path) -> str:
    """The name under which a reviewer finds a bound file: relative to the cassette's folder (spec M7)."""
    folder = os.path.abspath(cassette.parent)
    path = os.path.abspath(file)
    name = os.path.relpath(path, folder).replace(os.sep, "/")
    if name.startswith("../") or not is_subject_name(name):
        hint = "put it beside the cassette, under a name of letters, digits, `.`, `_` and `-`"
        raise SigningError(f"{file.name} can not be bound by name", hint)
    if name.lower() == cassette.name.lower():
        raise SigningError("the cassette itself is bound already")
    _digest(Path(folder), name)
    return name


def _patch(cassette: Path, facts: Object, allow_dirty: bool, directory: Path) -> Path | None:
    """The patch file of the last run's dirty code, written and to be bound; None for clean code."""
    runs = facts["runs"]
    codes = [run["code"] for run in runs if run["code"]] if isinstance(runs, list) else []
    dirty = [code for code in codes if code["dirty"]]
    if not dirty:
        return None
    if not allow_dirty:
        message = "the code of a run was not what its commit holds"
        raise SigningError(message, "commit and record again, or bind the difference with --allow-dirty")
    code = codes[-1]
    if dirty[-1] != code:
        return None  # the last run is clean; of the others, the verdict says that they were dirty
    path = cassette.with_name(cassette.name + PATCH)
    exclude = (*worktree.with_evidence(cassette), path)
    _write(path, worktree.patch(directory, Code(**code), exclude))
    return path


def _rules(cassette: Path) -> Rules:
    """The rules that record 0 binds; everything written later passes them."""
    with open_regular(cassette) as file:
        _, line = next(lines(file))
    opening = check_record("open", strict.read(line[:-1]))
    scrub = opening["scrub"]
    return parse(str(scrub["rules"]) if isinstance(scrub, dict) else "")


def _line(payload: bytes, signer: Signer) -> bytes:
    return envelope.write(payload, signer.public, signer.sign(envelope.pae(payload)))


def _write(path: Path, data: bytes) -> None:
    """Put a whole file in place at once: a reader sees the old one or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else "not possible"
        raise CassetteError(f"{path.name}: could not be written: {reason}") from None
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
