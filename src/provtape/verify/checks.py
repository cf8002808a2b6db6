"""Does the evidence agree with the cassette, and by whom is it (spec N6 to N9, M5, M10 to M13, V5 to V8).

Pure: values in, findings and facts out. The checks stand in the order of the table in spec/verdict.md, but for what `walk` finds
in the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from provtape.format import checkpoint
from provtape.format.manifest import Entry
from provtape.format.verdict import Finding, Verdict, decide
from provtape.verify.case import Case, Evidence, Question
from provtape.verify.facts import facts
from provtape.verify.signatures import Signed, judge

_AS_PUBLISHED = "take cassette and evidence as published, from one run"


def check(case: Case) -> Verdict:
    """The verdict on one cassette (spec V1 to V8)."""
    findings = [*case.scan.findings, *case.evidence.findings]
    for part in (_content, _manifest, _subjects, _roots, _expectations, _trust, _open_ends):
        findings += part(case)
    signatures = case.signatures()
    findings += _forks(case, signatures)
    findings += _signatures(signatures)
    return decide(findings, facts(case, signatures))


def unsupplied(name: str, evidence: Evidence, question: Question) -> Verdict:
    """The verdict on a cassette that a manifest names and that is not here: what its manifest alone says."""
    message = f"{name} is bound by the manifest and is not here"
    findings = [Finding("subject.missing", message, "put it beside the manifest")]
    lines = evidence.envelopes or ()
    findings += _signatures([judge(key, (), lines) for key in question.keys])
    if not question.keys:
        findings.append(_no_key())
    elif not {line.keyid for line in lines} & {key.fingerprint for key in question.keys}:
        findings.append(_stranger())
    return decide(findings)


def _content(case: Case) -> Iterator[Finding]:
    """Evidence of another origin, or of more records than there are (N8)."""
    tally, tail = case.scan.tally, case.scan.tail
    if case.evidence.rest is not None:
        yield _rest(case, case.evidence.rest)
    if tally.origin is None:
        return
    if any(note.origin != tally.origin for note in case.notes):
        yield Finding("checkpoint.origin", "a checkpoint is of another cassette", _AS_PUBLISHED)
    numbers = [note.records for note in case.statements]
    entry = case.entry
    most = max([*numbers, entry.records if entry else 0], default=0)
    n, end = tally.records, case.scan.complete
    if tail and most > n:
        message = f"the last line is cut, and evidence reaches {most} records of which {n} are whole"
        yield Finding("cassette.cut", message, _AS_PUBLISHED, n, end)
    elif not tail and max(numbers, default=0) > n:
        message = f"a checkpoint names {max(numbers)} records, the cassette has {n}"
        yield Finding("checkpoint.records", message, _AS_PUBLISHED, n, end)


def _rest(case: Case, rest: bytes) -> Finding:
    """What follows the last complete note: one more, cut (N9), or something nobody signed (N1)."""
    origin, first = case.scan.tally.origin, not case.evidence.notes
    if origin is not None and not case.scan.tally.sealed and checkpoint.is_torn(rest, origin, first=first):
        return Finding(
            "checkpoint.torn",
            "the last checkpoint is cut, as by a crash",
            "the recorder moves it aside when it goes on",
        )
    return Finding(
        "checkpoint.form",
        "the checkpoint file holds something that is no note",
        "take the checkpoint file as published; it holds notes and nothing else",
    )


def _manifest(case: Case) -> Iterator[Finding]:
    """The manifest's entry against the cassette (M10 to M12)."""
    tally, statement, entry = case.scan.tally, case.evidence.manifest, case.entry
    if statement is None or tally.origin is None:
        return
    if entry is None:
        yield Finding("manifest.origin", "the manifest does not speak of this cassette", _AS_PUBLISHED)
        return
    n = tally.records
    if entry.records > n and not case.scan.tail:
        message = f"the manifest names {entry.records} records, the cassette has {n}"
        yield Finding(
            "manifest.records",
            message,
            _AS_PUBLISHED,
            n,
            case.scan.complete,
        )
    if entry.records < n:
        message = f"the manifest names {entry.records} records, the cassette has {n}"
        yield Finding("manifest.append", message, _AS_PUBLISHED, entry.records)
    if entry.records == n and not tally.ends_with_end:
        yield Finding(
            "manifest.unsealed",
            "there is a manifest, but the cassette does not end with `end`",
            _AS_PUBLISHED,
        )
    yield from _bound(case, entry)


def _bound(case: Case, entry: Entry) -> Iterator[Finding]:
    tally = case.scan.tally
    if entry.scrub != case.scrub:
        message = "the manifest names other scrubbing rules than record 0"
        yield Finding("manifest.scrub", message, _AS_PUBLISHED, 0, 0)
    if tally.runs and entry.records == tally.records and entry.code != tally.runs[-1].code:
        message = "the manifest names other code than the last run"
        yield Finding("manifest.code", message, _AS_PUBLISHED, tally.runs[-1].record)
    whole = entry.records == tally.records and not case.scan.tail and not tally.withheld
    if whole and case.holds(entry.records, bytes.fromhex(entry.root)):
        digest = case.evidence.manifest.subject(entry.name).sha256 if case.evidence.manifest else ""
        if digest != case.scan.sha256:
            yield Finding(
                "manifest.digest", "the manifest's digest of the cassette is another", _AS_PUBLISHED
            )


def _subjects(case: Case) -> Iterator[Finding]:
    """Every other bound file (M13)."""
    for name, state in case.states():
        if state == "wrong":
            message = f"{name} is not the file that was signed"
            yield Finding("subject.digest", message, "take the file as published; compare with sha256sum")
        elif state == "missing":
            message = f"{name} is bound by the manifest and is not here"
            yield Finding(
                "subject.missing", message, "put it beside the manifest, or ask for less with --only"
            )


def _forks(case: Case, signatures: Sequence[Signed]) -> Iterator[Finding]:
    """Two roots by named keys for one number of records."""
    roots: dict[int, set[bytes]] = {}
    for signed in signatures:
        for records, root in case.stated(signed):
            roots.setdefault(records, set()).add(root)
    forked = sorted(records for records, stated in roots.items() if len(stated) > 1)
    if forked:
        message = f"named keys signed two histories of {forked[0]} records"
        yield Finding("evidence.fork", message, "ask the author which one is theirs, and keep both")


def _roots(case: Case) -> Iterator[Finding]:
    """Roots that are not those of the records (N8, M10, V6)."""
    n = case.scan.tally.records
    stated = [(note.records, note.root) for note in case.statements]
    entry = (case.entry.records, bytes.fromhex(case.entry.root)) if case.entry else None
    good = [records for records, root in (*stated, *([entry] if entry else [])) if case.holds(records, root)]
    bad = [records for records, root in stated if records <= n and not case.holds(records, root)]
    if bad:
        yield _changed("checkpoint.root", "a checkpoint", min(bad), good)
    if entry and entry[0] <= n and not case.holds(*entry):
        yield _changed("manifest.root", "the manifest", entry[0], good)


def _changed(code: str, what: str, bad: int, good: Sequence[int]) -> Finding:
    since = max((records for records in good if records < bad), default=0)
    message = (
        f"{what} of {bad} records has another root: something in records {since} to {bad - 1} was changed"
    )
    return Finding(
        code, message, "records or evidence were changed after signing; take both as published", since
    )


def _signatures(signatures: Sequence[Signed]) -> Iterator[Finding]:
    """Lines that claim a named key, or were its (N6, N7, M5)."""
    for signed in signatures:
        if signed.forged_note:
            message = "a checkpoint claims a named key, and its signature does not hold"
            yield Finding("checkpoint.signature", message, _AS_PUBLISHED)
        if signed.renamed_note:
            message = "a signature by a named key stands under another name or id"
            yield Finding("checkpoint.id", message, _AS_PUBLISHED)
        if signed.forged_manifest:
            message = "the manifest claims a named key, and its signature does not hold"
            yield Finding("manifest.signature", message, _AS_PUBLISHED)
        if signed.renamed_manifest:
            message = "a signature by a named key stands under another keyid"
            yield Finding("manifest.id", message, _AS_PUBLISHED)


def _expectations(case: Case) -> Iterator[Finding]:
    """What the caller expects beyond the signature."""
    question, tally = case.question, case.scan.tally
    if question.expect_origin not in (None, tally.origin):
        yield Finding(
            "expect.origin",
            "this is not the cassette that was expected: its origin is another",
            _AS_PUBLISHED,
            0,
            0,
        )
    if question.expect_commit is not None:
        asked = [run for run in tally.runs if run.interactions] or tally.runs[-1:]
        other = [run.record for run in asked if _commit(run.code) != question.expect_commit]
        if other or not asked:
            message = "a run was not recorded under the expected commit"
            yield Finding(
                "expect.commit",
                message,
                "see `runs` in --json for the commit of each run",
                next(iter(other), None),
            )
    if question.expect_records not in (None, tally.records):
        message = f"{question.expect_records} records were expected, the cassette has {tally.records}"
        yield Finding("expect.records", message, "another state of the run", tally.records)


def _commit(code: object) -> object:
    return code["commit"] if isinstance(code, dict) else None


def _trust(case: Case) -> Iterator[Finding]:
    """Who vouches for it (V7)."""
    evidence, keys, tally = case.evidence, case.question.keys, case.scan.tally
    if not keys:
        yield _no_key()
    elif _only_strangers(case):
        yield _stranger()
    if evidence.notes is None and evidence.envelopes is None:
        yield Finding(
            "trust.no-evidence",
            "there is no checkpoint and no manifest",
            "ask the author for the evidence files",
        )
    elif evidence.envelopes is None and tally.sealed and not (keys and _only_strangers(case)):
        yield Finding(
            "trust.no-manifest",
            "the cassette is sealed, but there is no manifest",
            "ask the author for the manifest",
        )


def _no_key() -> Finding:
    message = "no public key was named, so nobody vouches for this"
    return Finding("trust.no-key", message, "name the author's with --pubkey")


def _stranger() -> Finding:
    message = "there is evidence, but none of it that counts is by a key you named"
    hint = "get the author's key from the paper or their own page, not from beside the cassette"
    return Finding("trust.stranger", message, hint)


def _only_strangers(case: Case) -> bool:
    evidence, keys = case.evidence, case.question.keys
    if evidence.envelopes is not None:
        return bool(evidence.envelopes) and not {line.keyid for line in evidence.envelopes} & {
            key.fingerprint for key in keys
        }
    lines = [line for note in evidence.notes or () for line in note.note.lines]
    return bool(evidence.notes) and not any(line.counts_for(key) for line in lines for key in keys)


def _open_ends(case: Case) -> Iterator[Finding]:
    """What is not finished, or not there."""
    scan, tally = case.scan, case.scan.tally
    most = max(
        [note.records for note in case.statements] + ([case.entry.records] if case.entry else []), default=0
    )
    if scan.tail and tally.end is None and most <= tally.records:
        message = f"the last line is cut after {tally.records} records, as by a crash"
        yield Finding(
            "cassette.torn",
            message,
            "the recorder moves it aside when it goes on",
            tally.records,
            scan.complete,
        )
    if tally.end is None:
        yield Finding(
            "cassette.open",
            "the cassette is open: no `end`",
            "its author seals it with `provtape sign`",
            tally.records,
            scan.complete,
        )
    if tally.withheld and not case.question.allow_withheld:
        message = (
            f"{tally.withheld} of {tally.interactions} interactions are withheld, by whoever made this file"
        )
        yield Finding("cassette.withheld", message, "accept that with --allow-withheld", tally.first_withheld)
