"""Cases in which one record was changed, or was signed as it should not be."""

from __future__ import annotations

from typing import Final

from vector_case import Case, files, kept, whole
from vector_evidence import checkpoints, manifest
from vector_record import FIRST, SECOND, Body, Cassette, chain, leaf, llm, opening, relink, running
from vector_stories import (
    ANSWERS,
    changed,
    exchanged,
    held,
    plain,
    plain_bodies,
    rewritten,
    rich,
    with_record,
)
from vector_text import Raw

BOTH_ROOTS: Final = ("checkpoint.root", "manifest.root")


def edited() -> list[Case]:
    """One record changed, evidence kept: the link after it breaks, and the roots that cover it."""
    run, two = plain(), rich()
    chained = ("chain.prev", *BOTH_ROOTS)
    later = b"".join(exchanged(two.records, 4, b'"7e', b'"7f'))
    earlier = b"".join(exchanged(two.records, 1, b'"first"', b'"later"'))
    return [
        Case("edit/output", "one letter of an answer", kept(changed(3, b"Seven", b"Sever"), run), chained, 4),
        Case("edit/prompt", "one letter of a prompt", kept(changed(4, b"guten", b"gutem"), run), chained, 5),
        Case(
            "edit/number-spelling",
            "0.70 became 0.7: the same number, other bytes",
            kept(changed(2, b"0.70", b"0.7"), run),
            chained,
            3,
        ),
        Case("edit/key", "another match key", kept(changed(2, b'"key":"6', b'"key":"7'), run), chained, 3),
        Case("edit/time", "a later time", kept(changed(3, b"09:00:09", b"09:30:09"), run), chained, 4),
        Case(
            "edit/prev", "one digit of a link", kept(changed(3, b'"prev":"c', b'"prev":"d'), run), chained, 3
        ),
        Case(
            "edit/rules",
            "record 0 changed: the cassette has another name now, which no evidence knows",
            kept(changed(0, b'"meta":{}', b'"meta":{"approved":true}'), run),
            ("chain.prev", "checkpoint.origin", "manifest.origin"),
            1,
        ),
        Case(
            "edit/last-run-commit",
            "the commit of the last run: link, code and roots disagree",
            kept(later, two, (2, 10), code=SECOND),
            ("chain.prev", "manifest.code", *BOTH_ROOTS),
            5,
        ),
        Case(
            "edit/first-run",
            "the note in the first run",
            kept(earlier, two, (2, 10), code=SECOND),
            chained,
            2,
        ),
        Case(
            "edit/no-key",
            "edited, and no key named: consistency comes first",
            kept(changed(3, b"Seven", b"Eight"), run),
            (*chained, "trust.no-key"),
            4,
            keys=(),
        ),
        Case(
            "edit/and-strip",
            "edited, evidence removed: the link still tells",
            files(changed(3, b"Seven", b"Eight")),
            ("chain.prev", "trust.no-evidence"),
            4,
        ),
        Case(
            "edit/and-strip-manifest",
            "edited, manifest removed",
            files(changed(3, b"Seven", b"Eight"), checkpoints(run)),
            ("chain.prev", "checkpoint.root", "trust.no-manifest"),
            4,
        ),
        Case(
            "edit/withheld-hash",
            "a withheld line with another leaf",
            files(held({2: "0" * 64}), checkpoints(run), manifest(run)),
            (*chained, "cassette.withheld"),
            3,
        ),
    ]


def started(number: int, start: str, rest: str = "") -> Cassette:
    """`plain` with another start of one record and all later links recomputed.

    `start` stands for the bytes from the brace to `,"type"`; PREV in it is the link. `rest` follows it.
    """
    records = list(plain().records)
    prev = records[number][9:73].decode()
    tail = records[number][records[number].index(b',"type"') :]
    records[number] = start.replace("PREV", prev).encode() + rest.encode() + tail
    for later in range(number + 1, len(records)):
        records[later] = records[later][:9] + leaf(records[later - 1]).hex().encode() + records[later][73:]
    return Cassette(tuple(records))


def wrong_starts() -> list[Case]:
    """Records that are one JSON text in its one spelling, linked, signed, and do not start as a record does."""
    order, seq = '{"seq":3,"prev":"PREV"', ("record.start",)
    odd_type = rewritten(3, b'"type":"interaction"', b'"type":"interactions"')
    first = started(0, '{"seq":0,"prev":"PREV"')
    swapped = started(2, '{"seq":2,"prev":"PREV"').records
    moved = Cassette((*swapped[:3], swapped[4], swapped[3], swapped[5]))
    return [
        Case("edit/start-order-signed", "seq before prev", whole(started(3, order)), seq, 3),
        Case(
            "edit/start-exponent-signed",
            "3e0 is no own number",
            whole(started(3, '{"prev":"PREV","seq":3e0')),
            seq,
            3,
        ),
        Case(
            "edit/start-string-signed",
            "a number in quotation marks",
            whole(started(3, '{"prev":"PREV","seq":"3"')),
            seq,
            3,
        ),
        Case(
            "edit/start-member-signed",
            "a member before the type",
            whole(started(3, '{"prev":"PREV","seq":3', ',"note":""')),
            seq,
            3,
        ),
        Case("edit/start-type-signed", "a type that nobody knows", whole(odd_type), seq, 3),
        Case(
            "edit/start-first-signed",
            "record 0 starts wrongly: there is no origin to compare",
            whole(first),
            seq,
            0,
        ),
        Case(
            "edit/start-and-swap",
            "record 2 starts wrongly, so numbers are not compared, though 3 and 4 were exchanged",
            kept(moved.file, Cassette(swapped)),
            ("record.start", "chain.prev", *BOTH_ROOTS),
            2,
        ),
    ]


def misspelled() -> list[Case]:
    """Records that the signer wrote wrongly and signed: the chain holds, the rules do not."""
    meta, text = b'"meta":{}', b"Seven is prime."

    def signed(name: str, why: str, new: bytes, code: str, old: bytes = meta) -> Case:
        return Case(f"edit/{name}-signed", why, whole(rewritten(3, old, new)), (code,), 3)

    deep = b'"meta":{"a":' + b"[" * 63 + b"]" * 63 + b"}"
    return [
        signed("json-twice", "one name twice", b'"meta":{"a":1,"a":2}', "record.json"),
        signed(
            "json-twice-escaped",
            "one name twice, once as an escape",
            b'"meta":{"a":1,"\\u0061":2}',
            "record.json",
        ),
        signed("json-nan", "NaN is no JSON", b'"meta":{"a":NaN}', "record.json"),
        signed("json-surrogate", "a lone surrogate, escaped", b"\\ud800", "record.json", text),
        signed(
            "json-surrogate-raw",
            "a lone surrogate, written in three bytes",
            b"\xed\xa0\x80",
            "record.json",
            text,
        ),
        signed("json-utf-8", "a byte that is no UTF-8", b"Seven \xff", "record.json", text),
        signed("json-overlong", "a slash in two bytes", b"Seven \xc0\xaf", "record.json", text),
        signed("json-depth", "containers 65 deep", deep, "record.json"),
        signed("json-comma", "a comma before the brace", b'"meta":{"a":1,}', "record.json"),
        signed("json-control", "a raw tab in a string", b"Seven\tis", "record.json", text),
        signed(
            "spelling-escape", "a letter written as an escape", b"\\u0053even", "record.spelling", b"Seven"
        ),
        signed("spelling-slash", "an escaped slash", b"\\/", "record.spelling", text),
        signed("spelling-blank", "a blank after a colon", b'"meta": {}', "record.spelling"),
        signed("spelling-u2028", "U+2028 written as an escape", b"\\u2028", "record.spelling", text),
        signed("spelling-line-feed", "\\u000a in place of \\n", b"\\u000a", "record.spelling", text),
        Case(
            "edit/mirror-spelling",
            "a raw U+2028, a raw DEL and 1E5 are spelled as they must be",
            whole(with_record(3, llm(["\u2028\x7f", Raw("1E5")], "fine", 9))),
        ),
    ]


def shaped() -> list[Case]:
    """Records of the wrong shape, signed."""
    meta = b'"meta":{}'

    def signed(name: str, why: str, body: Body, number: int = 3, code: str = "record.members") -> Case:
        return Case(f"edit/{name}-signed", why, whole(with_record(number, body)), (code,), number)

    def line(name: str, why: str, old: bytes, new: bytes, number: int = 3) -> Case:
        return Case(
            f"edit/{name}-signed", why, whole(rewritten(number, old, new)), ("record.members",), number
        )

    first = chain([("run", running(0, code=FIRST)[1]), *plain_bodies()[1:]])
    return [
        line("members-unknown", "a member that nobody knows", meta, b'"meta":{},"approved":true'),
        line("members-missing", "no meta", b'"meta":{},', b""),
        line(
            "members-order", "two members exchanged", b'"scrubbed":[],"meta":{}', b'"meta":{},"scrubbed":[]'
        ),
        line("members-type", "meta is an array", meta, b'"meta":[]'),
        line("members-number", "a duration of 1.5", b'"elapsed_ms":49', b'"elapsed_ms":1.5'),
        line("members-kind", "a kind that nobody knows", b'"kind":"llm"', b'"kind":"llm2"'),
        line(
            "members-both", "an output and an error", b'"Seven is prime."', b'"Seven is prime.","error":null'
        ),
        line("members-run", "an upper-case commit", b'"commit":"3a', b'"commit":"3A', 1),
        line("members-end", "an end that says more", meta, b'"meta":{},"note":""', 5),
        Case(
            "edit/members-open-signed",
            "the digest of the scrub rules is wrong: record 0 has no origin, so evidence is not compared",
            whole(rewritten(0, b'"sha256":"1', b'"sha256":"2')),
            ("record.members",),
            0,
        ),
        signed("place-no-run", "an interaction before any run", ANSWERS[0], 1, "record.place"),
        signed("place-open", "a second open", opening("again"), 3, "record.place"),
        Case(
            "edit/place-first-signed",
            "record 0 is a run",
            files(Cassette(first).file, checkpoints(plain()), manifest(plain())),
            ("record.place",),
            0,
        ),
        Case(
            "edit/two-faults",
            "records 2 and 4 are at fault: the first one is reported",
            whole(
                Cassette(relink(exchanged(rewritten(2, meta, b'"meta":[]').records, 4, meta, b'"meta": {}')))
            ),
            ("record.members",),
            2,
        ),
    ]
