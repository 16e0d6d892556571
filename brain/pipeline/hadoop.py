"""Files through Hadoop's FileSystem: a path may be local, on HDFS, S3 or any other store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brain.errors import BadInput, StormbrainError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class FileInfo:
    path: str
    """A full URI."""
    length: int
    modified_ms: int
    is_dir: bool = False

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rsplit("/", 1)[-1]

    @property
    def parent(self) -> str:
        parts = self.path.rstrip("/").rsplit("/", 2)
        return parts[-2] if len(parts) > 2 else ""


class HadoopFiles:
    """What the driver needs of a file system. Paths are URIs or plain paths."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._conf: Any = spark.sparkContext._jsc.hadoopConfiguration()

    def _path(self, path: str) -> tuple[Any, Any]:
        try:
            p = self._jvm.org.apache.hadoop.fs.Path(path)
            fs = p.getFileSystem(self._conf)
        except Exception as e:
            raise BadInput(path, f"no file system can open this path: {_cause(e)}") from e
        return fs, fs.makeQualified(p)

    def resolve(self, path: str) -> str:
        """The full URI of a path."""
        return str(self._path(path)[1].toString())

    def exists(self, path: str) -> bool:
        fs, p = self._path(path)
        return bool(self._ask(path, lambda: fs.exists(p)))

    def require_dir(self, path: str, what: str) -> None:
        if not self.exists(path):
            raise BadInput(path, f"there is no such {what}")

    def list(self, path: str) -> list[FileInfo]:
        """What lies directly under a directory; nothing if there is no such directory."""
        fs, p = self._path(path)
        if not self._ask(path, lambda: fs.exists(p)):
            return []
        return [self._info(s) for s in self._ask(path, lambda: fs.listStatus(p))]

    def walk(self, path: str) -> Iterator[FileInfo]:
        """All files under a path, or the path itself if it is a file."""
        fs, p = self._path(path)
        found = self._ask(path, lambda: fs.listFiles(p, True))
        while self._ask(path, found.hasNext):
            yield self._info(self._ask(path, found.next))

    def read_text(self, path: str) -> str:
        fs, p = self._path(path)
        stream = self._ask(path, lambda: fs.open(p))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create_text(self, path: str, text: str) -> None:
        """Writes a file so that others see it whole or not at all; it must not be there yet."""
        fs, p = self._path(path)
        if self._ask(path, lambda: fs.exists(p)):
            raise FileExistsError(path)
        self._write_text(path, text, overwrite=False)

    def replace_text(self, path: str, text: str) -> None:
        """Writes a file so that others see the old one or the new one, and never none."""
        self._write_text(path, text, overwrite=True)

    def _write_text(self, path: str, text: str, overwrite: bool) -> None:
        fs, p = self._path(path)
        half = self._jvm.org.apache.hadoop.fs.Path(
            p.getParent(), f".{p.getName()}.{self._jvm.java.util.UUID.randomUUID()}"
        )
        stream = self._ask(path, lambda: fs.create(half, False))
        stream.write(bytearray(text.encode()))
        stream.close()
        rename: Any = self._jvm.org.apache.hadoop.fs.Options.Rename
        options = self._gateway.new_array(rename, int(overwrite))
        if overwrite:
            options[0] = rename.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(fs.getUri(), self._conf)
        try:
            context.rename(half, p, options)  # without OVERWRITE: fails if another was first
        except Exception as e:
            fs.delete(half, False)
            if not overwrite and fs.exists(p):
                raise FileExistsError(path) from e
            raise StormbrainError(f"cannot write {path}: {_cause(e)}") from e

    def rename(self, source: str, target: str) -> None:
        """Moves a file; the target's directory is made. Nothing is overwritten."""
        fs, s = self._path(source)
        _, t = self._path(target)
        self._ask(target, lambda: fs.mkdirs(t.getParent()))
        if not self._ask(source, lambda: fs.rename(s, t)):
            raise StormbrainError(f"cannot move {source} to {target}")

    def delete(self, path: str) -> None:
        fs, p = self._path(path)
        self._ask(path, lambda: fs.delete(p, True))

    @staticmethod
    def _info(status: Any) -> FileInfo:
        return FileInfo(
            str(status.getPath().toString()),
            int(status.getLen()),
            int(status.getModificationTime()),
            bool(status.isDirectory()),
        )

    @staticmethod
    def _ask(path: str, call: Any) -> Any:
        try:
            return call()
        except Exception as e:
            cause = _cause(e)
            if "FileNotFoundException" in cause:
                raise BadInput(path, "there is no such file or directory") from e
            if "AccessControl" in cause or "ermission denied" in cause:
                raise BadInput(path, "may not be read or written by this user") from e
            raise BadInput(path, f"cannot be read or written: {cause}") from e


def local_path(uri: str) -> str:
    """The path of a ``file:`` URI as Hadoop writes it: nothing in it is quoted."""
    return "/" + uri.removeprefix("file:").lstrip("/")


def _cause(error: Exception) -> str:
    java: Any = getattr(error, "java_exception", None)
    return str(java.toString()).splitlines()[0] if java is not None else str(error)
