"""The door: the one place that makes a `Scrubbed`, and so the only way into a file.

Decides in which order the parts of a record pass, and that nothing is written when one of them can not be scrubbed.
Does not decide what a secret is (`rules`, `engine`), how `open` and `run` are looked into (`standing`) or what the key
of a request is (`matching`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from provtape.errors import FormatError, ScrubError
from provtape.format.record import END, HTTP_RESPONSE, OPEN, OUTPUT, REQUEST, RUN, Scrubbed
from provtape.format.strict import dumps
from provtape.scrub.address import scrub_url, url_texts
from provtape.scrub.body import Selectors
from provtape.scrub.engine import MAX_PASSES, Scrubber, endless
from provtape.scrub.message import move_chunks, remember_credentials, scrub_content, scrub_headers, take_apart
from provtape.scrub.rules import Rules
from provtape.scrub.standing import Standing
from provtape.scrub.sweep import Finding, Sweep
from provtape.scrub.values import Named, collect, scrub_value

Object = dict[str, object]
Part = tuple[Object, list[Finding]]

_REMEMBERED_REQUESTS: Final = 1024
_ROWS: Final = {"open": OPEN, "run": RUN, "end": END}


class Door:
    """Everything that one session writes passes here, one part at a time, whatever thread it comes from.

    Args:
        rules: The rules of the cassette.
        literals: Values known to be secret, UTF-8, such as those of environment variables that are named like a secret; those under
            8 bytes are not used. They are written down nowhere.
    """

    def __init__(self, rules: Rules, *, literals: Sequence[bytes] = ()) -> None:
        self.rules = rules
        self._scrubber = Scrubber(rules, literals)
        self._named = Named(rules.json_keys)
        self._selectors = Selectors.of(rules, self._named)
        self._standing = Standing(self._scrubber, self._named)
        self._passed: dict[int, Object] = {}
        self._lock = threading.Lock()

    def record(self, type_: str, members: Mapping[str, object]) -> Scrubbed:
        """Scrub an `open`, `run` or `end`.

        Args:
            type_: One of these.
            members: The members after `type`, in their order (spec C13, C14, C20).

        Returns:
            The bytes from `"type"` to LF.

        Raises:
            ScrubError: Other members, something that can not be scrubbed, or a rule that would change a digest, a time or a name.
        """
        if type_ not in _ROWS or tuple(members) != _ROWS[type_]:
            raise ScrubError(f"a record of type {type_} with other members than the format says")
        with self._lock:
            scrubbed = {name: self._standing.member(name, value) for name, value in members.items()}
        return self._line({"type": type_, **scrubbed})

    def request(self, kind: str, request: Mapping[str, object]) -> tuple[Object, list[Finding]]:
        """Scrub a request, so that its key can be computed before anything goes live.

        Args:
            kind: `llm`, `tool` or `http`.
            request: Its members in their order (spec C16, C17); it is not changed.

        Returns:
            The scrubbed request, and what was found in it.

        Raises:
            ScrubError: Other members, or something that can not be scrubbed.
        """
        if kind not in REQUEST or tuple(request) != REQUEST[kind]:
            raise ScrubError("a request with other members than the format says")
        with self._lock:
            if kind == "http":
                remember_credentials(request["headers"], self._scrubber)
            part = self._settle(lambda: self._request(kind, request))
            self._passed[id(part[0])] = part[0]
            if len(self._passed) > _REMEMBERED_REQUESTS:
                del self._passed[next(iter(self._passed))]
        return part

    def interaction(
        self,
        kind: str,
        key: str,
        request: Mapping[str, object],
        request_findings: Sequence[Finding],
        response: Mapping[str, object],
        started: str,
        elapsed_ms: int,
        meta: Mapping[str, object],
        salt: str,
    ) -> Scrubbed:
        """Scrub the response and write the interaction.

        Args:
            kind: `llm`, `tool` or `http`.
            key: Of the scrubbed request, hex.
            request: As `request` returned it.
            request_findings: As `request` returned them.
            response: Its members in their order (spec C16, C17); it is not changed.
            started: Time (spec C21).
            elapsed_ms: Milliseconds.
            meta: Free.
            salt: Spec C21.

        Returns:
            The bytes from `"type"` to LF.

        Raises:
            ScrubError: Other members, something that can not be scrubbed, or a request that did not pass this door.
        """
        names = HTTP_RESPONSE if kind == "http" else (OUTPUT.get(kind, ""),)
        if kind not in REQUEST or tuple(response) not in (names, names if kind == "http" else ("error",)):
            raise ScrubError("a response with other members than the format says")
        with self._lock:
            self._check_passed(kind, request)
            scrub = self._http_response if kind == "http" else self._response
            answer, found = self._settle(lambda: scrub(response))
            free, more = self._settle(lambda: self._free({"meta": meta}, ""))
        return self._line(
            {
                "type": "interaction",
                "kind": kind,
                "key": key,
                "request": request,
                "response": answer,
                "started": started,
                "elapsed_ms": elapsed_ms,
                "scrubbed": [*request_findings, *found, *more],
                "meta": free["meta"],
                "salt": salt,
            }
        )

    def manifest(self, statement: Mapping[str, object]) -> Scrubbed:
        """Let a manifest pass (spec M1 and following).

        Returns:
            The payload, without LF.

        Raises:
            ScrubError: A rule finds something in it: a name or digest must not change silently.
        """
        with self._lock:
            self._standing.fixed(dict(statement), "the manifest")
        return Scrubbed(_dumps(statement))

    # How each part passes.

    def _settle(self, scrub: Callable[[], Part]) -> Part:
        """Scrub a part once more whenever it taught the memory something that may also stand earlier in it."""
        for _ in range(MAX_PASSES):
            known = self._scrubber.known
            part = scrub()
            if self._scrubber.known == known:
                return part
        raise endless()

    def _check_passed(self, kind: str, request: Mapping[str, object]) -> None:
        """Refuse a request that `request` did not make: one of the last few, or one in which the rules find nothing."""
        if self._passed.pop(id(request), None) is request:
            return
        if self._request(kind, request, literals=False)[0] != request:
            raise ScrubError("a request that did not pass the door can not be written")

    def _free(self, value: Mapping[str, object], where: str, *, literals: bool = True) -> Part:
        """A part whose own member names are the format's, and whose values are free JSON."""
        texts: list[str] = []
        named = False
        for item in value.values():
            named = collect(item, texts, self._named, 3 if where else 2) or named
        sweep = Sweep(self._scrubber, texts, literals=literals)
        if sweep.idle and not named:
            return dict(value), []
        scrubbed = {
            name: scrub_value(item, f"{where}/{name}", sweep, self._named) for name, item in value.items()
        }
        return scrubbed, sweep.findings

    def _request(self, kind: str, request: Mapping[str, object], *, literals: bool = True) -> Part:
        if kind != "http":
            return self._free(request, "/request", literals=literals)
        method, url = request["method"], request["url"]
        if type(method) is not str or type(url) is not str:
            raise ScrubError("/request has a method or url that is not a string")
        message = take_apart(
            request["headers"], request["body"], self.rules.request_keep, "/request", self._selectors
        )
        sweep = Sweep(self._scrubber, [method, *url_texts(url), *message.texts], literals=literals)
        scrubbed: Object = {
            "method": sweep.text(method, "/request/method"),
            "url": scrub_url(url, "/request/url", sweep, self.rules.query),
            "headers": scrub_headers(message, sweep, self.rules.query),
            "body": scrub_content(message, sweep, self._selectors)[0],
        }
        return scrubbed, sweep.findings

    def _response(self, response: Mapping[str, object]) -> Part:
        return self._free(response, "/response")

    def _http_response(self, response: Mapping[str, object]) -> Part:
        error = response["error"]
        if error is not None and type(error) is not str:
            raise ScrubError("/response has an error that is neither null nor a string")
        message = take_apart(
            response["headers"], response["body"], self.rules.response_keep, "/response", self._selectors
        )
        sweep = Sweep(self._scrubber, [*([error] if error else ()), *message.texts])
        said = sweep.text(error, "/response/error") if error else error
        headers = scrub_headers(message, sweep, self.rules.query)
        content, body = scrub_content(message, sweep, self._selectors)
        scrubbed: Object = {
            "ended": response["ended"],
            "error": said,
            "status": response["status"],
            "headers": headers,
            "body": content,
            "chunks": move_chunks(response["chunks"], body),
        }
        return scrubbed, sweep.findings

    def _line(self, members: Object) -> Scrubbed:
        return Scrubbed(_dumps(members)[1:] + b"\n")


def _dumps(value: object) -> bytes:
    try:
        return dumps(value)
    except FormatError as error:
        raise ScrubError(f"can not be written: {error.message}") from None
