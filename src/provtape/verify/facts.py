"""The facts of a report (spec/report.schema.json): what was seen, whatever the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from provtape.format.keys import PublicKey
from provtape.format.record import Object
from provtape.verify.case import Case
from provtape.verify.signatures import Signed


def facts(case: Case, signatures: Sequence[Signed]) -> dict[str, object]:
    """The `facts` of a report about one cassette; `signatures` in the order of the named keys."""
    subjects = [{"name": name, "state": state} for name, state in case.states()]
    return {"cassettes": [_cassette(case, signatures)], "subjects": subjects}


def _cassette(case: Case, signatures: Sequence[Signed]) -> dict[str, object]:
    tally = case.scan.tally
    match = tally.opening["match"] if tally.opening else None
    return {
        "name": case.name,
        "origin": tally.origin,
        "records": tally.records,
        "interactions": tally.interactions,
        "withheld": tally.withheld,
        "sealed": tally.sealed,
        "root": tally.roots.root().hex() if tally.records else None,
        "sha256": case.scan.sha256,
        "scrub": case.scrub,
        "ignore": match["ignore"] if isinstance(match, dict) else [],
        "runs": [_run(run.record, run.interactions, run.members) for run in tally.runs],
        "covers": [_covers(case, *row) for row in zip(case.question.keys, signatures, strict=True)],
        "strangers": _strangers(case),
    }


def _run(record: int, interactions: int, members: Object) -> dict[str, object]:
    capture = members["capture"]
    road, enclosed = (capture["road"], capture["enclosed"]) if isinstance(capture, dict) else (None, None)
    return {
        "record": record,
        "interactions": interactions,
        "road": road,
        "enclosed": enclosed,
        "code": members["code"],
    }


def _covers(case: Case, key: PublicKey, signed: Signed) -> dict[str, object]:
    covered = [records for records, root in case.stated(signed) if case.holds(records, root)]
    return {
        "name": key.name,
        "fingerprint": key.fingerprint,
        "records": max(covered, default=0),
        "manifest": signed.manifest,
    }


def _strangers(case: Case) -> int:
    keys = case.question.keys
    lines = [line for note in case.evidence.notes or () for line in note.note.lines]
    envelopes = case.evidence.envelopes or ()
    return sum(not any(line.counts_for(key) for key in keys) for line in lines) + sum(
        line.keyid not in {key.fingerprint for key in keys} for line in envelopes
    )
