"""Loads a topology from a Python file, or from a KATTS query in XML.

A Python file offers either

* ``build(options: Options) -> type[Topology]`` and a frozen dataclass ``Options``, whose fields,
  with their defaults and the strings below them, are the options of the topology; or
* one streamparse ``Topology`` class, without options.

A query is compiled to a module of the first kind.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from streamparse import Topology

from brain.errors import BadInput
from brain.submit.options import make_options, option_fields


@dataclass(frozen=True)
class TopologyFile:
    """A topology's source: the imported module and where its package begins."""

    path: Path
    root: Path
    """The directory from which ``module`` can be imported."""
    module: ModuleType

    @property
    def top_level(self) -> str:
        """The package, or the single module, that has to go to the workers."""
        return self.module.__name__.partition(".")[0]

    @property
    def options_class(self) -> type | None:
        """The dataclass with the topology's options, if it has any."""
        found = getattr(self.module, "Options", None) if self._has_build else None
        return found if isinstance(found, type) else None

    @property
    def _has_build(self) -> bool:
        return callable(getattr(self.module, "build", None))

    def option_names(self) -> list[str]:
        return [] if self.options_class is None else list(option_fields(self.options_class))

    def build(self, options: Mapping[str, str], class_name: str | None = None) -> type[Topology]:
        """The streamparse topology with these options, each as the text the user gave."""
        if self._has_build and class_name is None:
            return self._call_build(options)
        if options:
            raise BadInput(str(self.path), f"has no options, but was given {', '.join(options)}")
        return self._only_class(class_name)

    def _call_build(self, options: Mapping[str, str]) -> type[Topology]:
        arguments = []
        if self.options_class is not None:
            arguments = [make_options(self.options_class, options, str(self.path))]
        try:
            topology = self.module.build(*arguments)
        except Exception as e:
            raise BadInput(*_told(self.path, e)) from e
        if not (isinstance(topology, type) and issubclass(topology, Topology)):
            raise BadInput(
                str(self.path),
                f"build() gave {type(topology).__name__}, not a Topology class",
                "return a subclass of streamparse.Topology",
            )
        return topology

    def _only_class(self, class_name: str | None) -> type[Topology]:
        classes = {
            name: value
            for name, value in vars(self.module).items()
            if isinstance(value, type)
            and issubclass(value, Topology)
            and value.__module__ == self.module.__name__
        }
        if class_name is not None and class_name in classes:
            return classes[class_name]
        if class_name is not None or len(classes) > 1:
            said = f"has no class {class_name}" if class_name else "has several Topology classes"
            shown = ", ".join(classes) or "none"
            raise BadInput(str(self.path), said, f"choose one with --class: {shown}")
        if not classes:
            raise BadInput(
                str(self.path),
                "has neither a Topology class nor build(options)",
                "define one: class MyTopology(streamparse.Topology)",
            )
        return next(iter(classes.values()))


def load_topology_file(path: Path) -> TopologyFile:
    """Imports the file under the name that it will have on the workers."""
    if not path.is_file():
        raise BadInput(str(path), "there is no such file")
    if path.suffix == ".xml":
        return _load_query(path)
    if path.suffix != ".py":
        raise BadInput(
            str(path),
            "is not a Python file, nor a query in XML",
            "give a .py file with a topology in it, or an .xml file with a query",
        )
    path = path.resolve()
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    return TopologyFile(path, root, _import(name, root, path))


def _load_query(path: Path) -> TopologyFile:
    """The operators of a query come with the package ``topologies``, which goes to the workers."""
    import topologies
    from topologies.katts.compiler import query_module

    root = Path(topologies.__file__).resolve().parents[1]
    return TopologyFile(path.resolve(), root, query_module(path))


def _import(name: str, root: Path, path: Path) -> ModuleType:
    top_level = name.partition(".")[0]
    # A package of the same name from elsewhere must not be taken for the one of this file.
    for loaded in [m for m in sys.modules if m == top_level or m.startswith(f"{top_level}.")]:
        origin = getattr(sys.modules[loaded], "__file__", None)
        if origin is None or not Path(origin).resolve().is_relative_to(root):
            del sys.modules[loaded]
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except SyntaxError as e:
        raise BadInput(f"{e.filename}:{e.lineno}", f"syntax error: {e.msg}") from e
    except ModuleNotFoundError as e:
        where, told, _ = _told(path, e)
        raise BadInput(where, told, f"install {e.name} in {sys.executable}") from e
    except Exception as e:
        raise BadInput(*_told(path, e)) from e
    finally:
        sys.path.remove(str(root))
    if Path(module.__file__ or "").resolve() != path:
        raise BadInput(
            str(path),
            f"a module {name} from {module.__file__} is in the way",
            "rename the file",
        )
    return module


def _told(path: Path, error: Exception) -> tuple[str, str, str | None]:
    """Where in the user's code it went wrong: the innermost frame within the file's package."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).resolve().is_relative_to(path.parent)]
    where = f"{own[-1].filename}:{own[-1].lineno}" if own else str(path)
    return where, f"{type(error).__name__}: {error}", None


def describe(file: TopologyFile) -> dict[str, Any]:
    """Each option with its default and meaning."""
    if file.options_class is None:
        return {}
    return {
        name: {"type": field.kind.__name__, "default": field.default, "meaning": field.meaning}
        for name, field in option_fields(file.options_class).items()
    }
