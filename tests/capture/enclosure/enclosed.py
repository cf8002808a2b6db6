"""Run a command as provtape does, serve its calls with a fixed answer, say afterwards what was served. Needs nothing but provtape.

python enclosed.py enclosed|plain REPORT COMMAND…
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from pathlib import Path

from provtape.capture.child import Child, Forwarding
from provtape.capture.namespace import Enclosure
from provtape.errors import NotEnclosed, NotStarted


def answer(connection: socket.socket, child: Child, served: list[list[object]]) -> None:
    with connection, contextlib.suppress(OSError):
        address, port = connection.getsockname()[:2]
        name = child.names.name_of(address) if isinstance(child, Enclosure) else None
        served.append([name or address, port])
        connection.recv(65_536)
        connection.sendall(f"HTTP/1.0 200 OK\r\n\r\nserved {name or address} {port}".encode())


def accept(listening: socket.socket, child: Child, served: list[list[object]]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=answer, args=(connection, child, served), daemon=True).start()


def main() -> int:
    road, report, *command = sys.argv[1:]
    served: list[list[object]] = []
    kind = Enclosure if road == "enclosed" else Child
    try:
        with Forwarding() as signals, kind.start(command, environment=dict(os.environ)) as child:
            for one in child.sockets.values():
                threading.Thread(target=accept, args=(one, child, served), daemon=True).start()
            child.go()
            signals.to(child)
            status = child.wait()
    except NotStarted as error:
        print(error, file=sys.stderr)
        return error.status
    except NotEnclosed as error:
        print(error, error.hint, sep="\n", file=sys.stderr)
        return 125
    Path(report).write_text(json.dumps(served), "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
