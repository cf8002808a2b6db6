"""A program that tries every road out that it knows, to HOST PORT, and prints road → what came of it.

python roads.py HOST PORT [CLOSED]: with a third argument it closes every descriptor first that it did not open.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

REACHED = "reached"
Target = tuple[str, int]


def straight(target: Target) -> str:
    try:
        with socket.create_connection(target, timeout=20) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return REACHED if connection.recv(100) else "closed"
    except OSError as error:
        return type(error).__name__


def in_a_thread(target: Target) -> str:
    outcome: list[str] = []
    thread = threading.Thread(target=lambda: outcome.append(straight(target)))
    thread.start()
    thread.join()
    return outcome[0]


def with_asyncio(target: Target) -> str:
    async def connect() -> str:
        try:
            reader, writer = await asyncio.open_connection(*target)
        except OSError as error:
            return type(error).__name__
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        came = await reader.read(100)
        writer.close()
        return REACHED if came else "closed"

    return asyncio.run(connect())


def tell(pipe: Connection, target: Target) -> None:
    pipe.send(straight(target))


def by(method: str) -> Callable[[Target], str]:
    def process(target: Target) -> str:
        context = multiprocessing.get_context(method)
        ours, its = context.Pipe(duplex=False)
        worker = context.Process(target=tell, args=(its, target))
        worker.start()
        outcome = ours.recv()
        worker.join()
        return str(outcome)

    return process


def child_of_a_child(target: Target) -> str:
    inner = [sys.executable, __file__, *map(str, target), "straight"]
    code = f"import subprocess, sys; sys.exit(subprocess.run({inner!r}).returncode)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout


def double_fork(target: Target) -> str:
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, straight(target).encode())
        os._exit(0)
    os.wait()
    os.close(write)
    with open(read, encoding="utf-8") as file:
        return file.read()


ROADS: dict[str, Callable[[Target], str]] = {
    "straight": straight,
    "thread": in_a_thread,
    "asyncio": with_asyncio,
    "fork": by("fork"),
    "spawn": by("spawn"),
    "forkserver": by("forkserver"),
    "child of a child": child_of_a_child,
    "double fork": double_fork,
}


def main() -> None:
    host, port, *more = sys.argv[1:]
    target = (host, int(port))
    if more == ["straight"]:
        print(straight(target), end="")
        return
    if more == ["closed"]:
        os.closerange(3, 65_536)
    print(json.dumps({name: road(target) for name, road in ROADS.items()}))


if __name__ == "__main__":
    main()
