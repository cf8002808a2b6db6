"""A recorder in a process of its own, to be killed: prints its port and relays until then."""

from __future__ import annotations

import sys
import threading

from provtape.capture.desk import Settings
from provtape.capture.server import Server, listen
from provtape.session import Session
from provtape.wire.route import Routes

if __name__ == "__main__":
    session = Session.open(sys.argv[1], "record", literals=())
    with Server(session.turns, [listen()], Settings(routes=Routes.of({"up": sys.argv[2]}))) as server:
        print(server.ports[0], flush=True)
        threading.Event().wait()
