"""Cases of manifests that have the wrong form, or say something else than the cassette."""

from __future__ import annotations

from collections.abc import Callable

from vector_case import Case, files
from vector_evidence import (
    checkpoints,
    encoded,
    entry,
    envelope,
    enveloped,
    manifest,
    statement,
    subject,
)
from vector_keys import ALICE, BOB
from vector_record import SECOND, Cassette
from vector_stories import open_run, plain, rich
from vector_text import Json, sha256, spelled


def _manifest(
    name: str, why: str, content: bytes, *codes: str, keys: tuple[str, ...] = ("alice.vkey",)
) -> Case:
    """The intact cassette and notes, with another manifest."""
    return Case(name, why, files(plain().file, checkpoints(plain()), content), codes, keys=keys)


def _payload(change: Callable[[bytes], bytes]) -> bytes:
    """A manifest signed by Alice over a payload that `change` made."""
    run = plain()
    text = spelled(statement([entry(run)], [subject("cassette.jsonl", run.file)])).encode()
    return enveloped(change(text))


def _bound(name: str) -> bytes:
    return manifest(plain(), bound={name: b""})


def _plain_payload() -> bytes:
    run = plain()
    return spelled(statement([entry(run)], [subject("cassette.jsonl", run.file)])).encode()


def forms() -> list[Case]:
    """Manifests of the wrong form, most of them signed."""
    run, form = plain(), "manifest.form"
    good, also_bob = manifest(run), manifest(run, (ALICE, BOB))
    first, second = also_bob.splitlines(keepends=True)
    other_payload = manifest(run, (BOB,), predicate={"recorder": "another"})
    lost = spelled(statement([entry(run)], [subject("run.jsonl", run.file)])).encode()
    renamed = envelope(_plain_payload(), "ab" * 32, ALICE.sign(encoded(_plain_payload())))
    wrong_bob = envelope(_plain_payload(), "cd" * 32, BOB.sign(encoded(_plain_payload())))
    return [
        _manifest(
            "edit/manifest-envelope-member",
            "a member more in the envelope, which nobody signed",
            good.replace(b"]}\n", b'],"note":"approved"}\n'),
            form,
        ),
        _manifest("edit/manifest-junk", "a line more, which is no envelope", good + b"approved\n", form),
        _manifest("edit/manifest-duplicate-line", "one signer stands twice", first + first, form),
        _manifest(
            "edit/manifest-two-payloads", "a second line speaks of something else", good + other_payload, form
        ),
        _manifest(
            "edit/manifest-twice-signed",
            "one name twice in the payload",
            _payload(lambda p: p.replace(b'"inputs":[]', b'"inputs":[],"inputs":[]')),
            form,
        ),
        _manifest(
            "edit/manifest-blank-signed",
            "a blank in the payload",
            _payload(lambda p: p.replace(b":[]", b": []", 1)),
            form,
        ),
        _manifest(
            "edit/manifest-member-signed",
            "a member that nobody knows",
            _payload(lambda p: p.replace(b'"inputs":[]', b'"inputs":[],"note":""')),
            form,
        ),
        _manifest(
            "edit/manifest-type-signed",
            "another predicate type",
            _payload(lambda p: p.replace(b"manifest:v1", b"manifest:v2")),
            form,
        ),
        _manifest(
            "edit/manifest-climbing-signed", "a subject above the folder", _bound("../scores.json"), form
        ),
        _manifest("edit/manifest-absolute-signed", "a subject from the root", _bound("/scores.json"), form),
        _manifest(
            "edit/manifest-case-signed",
            "two subjects that some file systems take for one",
            _bound("Cassette.jsonl"),
            form,
        ),
        _manifest(
            "edit/manifest-first-subject-signed",
            "the first subject is not the cassette",
            enveloped(lost),
            form,
        ),
        Case(
            "edit/manifest-id",
            "the keyid of the only line was changed",
            files(run.file, checkpoints(run), renamed),
            ("manifest.id", "trust.stranger"),
        ),
        _manifest(
            "edit/manifest-second-id",
            "the keyid of the second line was changed, whose signer is named too",
            good + wrong_bob,
            "manifest.id",
            keys=("alice.vkey", "bob.vkey"),
        ),
        _manifest("edit/mirror-second-id", "the same while the second signer is not named", good + wrong_bob),
        _manifest("edit/mirror-line-order", "the lines in another order", second + first),
    ]


def contents() -> list[Case]:
    """Manifests that say something else than the cassette, honestly signed."""
    run, live, two = plain(), open_run(), rich()
    scrub: Json = {"name": "vectors-2", "sha256": sha256(b"other rules").hex()}
    wrong = manifest(Cassette((*run.records,))).replace(b"", b"")
    assert wrong == manifest(run)
    digest = enveloped(spelled(statement([entry(run)], [subject("cassette.jsonl", b"")])).encode())
    return [
        Case(
            "edit/manifest-unsealed-signed",
            "a manifest for a run that is not over",
            files(live.file, checkpoints(live, (2, 5)), manifest(live)),
            ("manifest.unsealed", "cassette.open"),
        ),
        Case(
            "edit/manifest-scrub-signed",
            "the manifest names other scrub rules",
            files(run.file, checkpoints(run), manifest(run, scrub=scrub)),
            ("manifest.scrub",),
            0,
        ),
        Case(
            "edit/manifest-code-signed",
            "the manifest names another commit",
            files(run.file, checkpoints(run), manifest(run, code=SECOND)),
            ("manifest.code",),
            1,
        ),
        Case(
            "edit/manifest-code-first-run-signed",
            "the manifest names the commit of the first run, the last one counts",
            files(two.file, None, manifest(two)),
            ("manifest.code",),
            4,
        ),
        _manifest(
            "edit/manifest-digest-signed",
            "records and root are right, the file's digest is not",
            digest,
            "manifest.digest",
        ),
        Case(
            "edit/manifest-scrub-and-code-signed",
            "scrub, code and digest: all that differs is said",
            files(
                run.file,
                None,
                enveloped(
                    spelled(
                        statement([entry(run, code=None, scrub=scrub)], [subject("cassette.jsonl", b"")])
                    ).encode()
                ),
            ),
            ("manifest.scrub", "manifest.code", "manifest.digest"),
            0,
        ),
    ]
