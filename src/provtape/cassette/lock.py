"""A cassette that one writer alone may change: opened, locked, extended by whole lines (DESIGN 7).

Decides who may write and what is left when a write fails. The lock is `flock` on the cassette's own descriptor: it refuses a
second opening in another process and in this one alike, and goes with the process. A forked child drops its copy at once.
"""

from __future__ import annotations

import errno
import os
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from provtape.cassette.disk import because, open_to_append, sync, write_whole
from provtape.errors import CassetteError, CassetteExists, CassetteLocked

if sys.platform != "win32":
    import fcntl

_BUSY: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def lock(descriptor: int, name: str) -> None:
    """Lock a file for this descriptor alone, at once or not at all.

    Raises:
        CassetteLocked: Somebody else holds it.
        CassetteError: This system or file system knows no such lock.
    """
    if sys.platform == "win32":
        raise CassetteError("this system has no flock: writing a cassette is not supported here")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            raise CassetteLocked(
                f"{name}: somebody else is writing it", "wait until that recording has ended"
            ) from None
        raise CassetteError(f"{name}: could not be locked: {because(error)}") from None


def unlock(descriptor: int) -> None:
    """Give the lock back, also when a forked child still has a copy of the descriptor."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


class LockedFile:
    """A locked cassette of `size` bytes, all of them durable whole records once it has been read.

    Attributes:
        path: Where it is.
        size: Its bytes; every extension starts there.
        forked: Whether this process was forked from the one that holds it; then it can not be used.
    """

    __slots__ = ("__weakref__", "_descriptor", "forked", "path", "size")

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.forked = False
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        _HELD.add(self)

    @classmethod
    def create(cls, path: Path) -> LockedFile:
        """A new, empty file of that name, locked.

        Raises:
            CassetteExists: Something of that name is there, be it a link that leads nowhere.
            CassetteError: It can not be made or locked.
        """
        try:
            descriptor = open_to_append(path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            what = "a symbolic link is" if path.is_symlink() else "it is"
            raise CassetteExists(
                f"{path.name}: {what} there already; record never overwrites", "give another name"
            ) from None
        except OSError as error:
            raise CassetteError(f"{path.name}: could not be made: {because(error)}") from None
        return cls._locked(path, descriptor)

    @classmethod
    def open(cls, path: Path) -> LockedFile:
        """A file that is there, locked.

        Raises:
            CassetteLocked: Somebody else is writing it.
            CassetteError: It is not there, a link, no regular file, or not to be written.
        """
        try:
            descriptor = open_to_append(path)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise CassetteError(f"{path.name}: a symbolic link", "name the file itself") from None
            if error.errno in (errno.EINVAL, errno.ENXIO):
                raise CassetteError(f"{path.name}: not a regular file") from None
            raise CassetteError(f"{path.name}: could not be opened: {because(error)}") from None
        return cls._locked(path, descriptor)

    @classmethod
    def _locked(cls, path: Path, descriptor: int) -> LockedFile:
        try:
            lock(descriptor, path.name)
            if not _is_that(path, descriptor):
                raise CassetteError(f"{path.name}: was replaced while it was being opened")
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def reader(self) -> BinaryIO:
        """The file from its first byte; closing what is returned leaves the lock alone."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return open(self._descriptor, "rb", closefd=False)

    def extend(self, data: bytes) -> None:
        """Append whole lines: one write, one sync. When this returns they are durable.

        Raises:
            CassetteError: They are not, and the file was cut back to what it held before, or holds a torn tail if even that
                failed. Or somebody else touched the file; then it was left as it is.
        """
        self._check_untouched()
        try:
            write_whole(self._descriptor, data)
            sync(self._descriptor)
        except BaseException as error:
            with suppress(OSError):
                self.cut(self.size)
            if isinstance(error, OSError):
                raise CassetteError(f"{self.path.name}: could not be written: {because(error)}") from None
            raise
        self.size += len(data)

    def cut(self, size: int) -> None:
        """Cut the file to `size` bytes, durably.

        Raises:
            OSError: It may not be cut.
        """
        os.ftruncate(self._descriptor, size)
        sync(self._descriptor)
        self.size = size

    def discard(self) -> None:
        """Remove a file that was just made and never held a durable record, and give the lock back."""
        with suppress(OSError):
            if _is_that(self.path, self._descriptor):
                self.path.unlink()
        self.release()

    def release(self) -> None:
        """Give the lock back and close. In a forked child, and the second time, nothing happens."""
        if self._descriptor < 0:
            return
        unlock(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1

    def drop(self) -> None:
        """In a forked child: close this copy and leave the parent's lock alone."""
        self.forked = True
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _check_untouched(self) -> None:
        found = os.fstat(self._descriptor)
        if found.st_nlink == 0:
            raise CassetteError(f"{self.path.name}: was removed or replaced while it was being written")
        if found.st_size != self.size:
            raise CassetteError(
                f"{self.path.name}: was changed by another program while it was being written"
            )


def _is_that(path: Path, descriptor: int) -> bool:
    try:
        there, held = path.lstat(), os.fstat(descriptor)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


_HELD: Final[weakref.WeakSet[LockedFile]] = weakref.WeakSet()


def _drop_all() -> None:
    for held in list(_HELD):
        held.drop()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_drop_all)
