"""What a topology file needs of what is beside it: follows imports in the source, from file to file; nothing is run.

Used to make packages, and by whoever imports such a file, so that both mean the same places.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path, PurePosixPath

from pasps.errors import InvalidError

_INIT = "__init__.py"
# ours is wherever it runs; whoever develops pasps has it beside the file
_ELSEWHERE = frozenset({"pasps", *sys.builtin_module_names})


def import_roots(file: Path) -> tuple[Path, ...]:
    """The directories that a file's own imports are found in: its own, and that of the outermost package it is inside of."""
    folder = file.resolve().parent
    root = folder
    while root.name.isidentifier() and (root / _INIT).is_file():
        root = root.parent
    return (folder,) if root == folder else (folder, root)


def sources_of(file: Path) -> dict[str, Path]:
    """The file, and what it imports from beside it, by their names below the last of its import roots.

    A module comes alone, a package with everything in it but caches, hidden files and virtual environments; what these import
    in turn comes too. When the file is inside a package, that whole package comes.

    Raises:
        InvalidError: the file is no Python source, or something cannot be read.
    """
    path = file.resolve()
    _tree(path, strict=True, shown=file)
    return _Search(import_roots(file)).from_(path)


class _Search:
    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._base = roots[-1]
        self._found: dict[str, Path] = {}
        self._pending: list[Path] = []

    def from_(self, file: Path) -> dict[str, Path]:
        inside = file.relative_to(self._base).parts
        if len(inside) > 1:
            self._add_package(self._base / inside[0])
        self._add(file)
        while self._pending:
            source = self._pending.pop()
            for name in sorted(_imported(source, self._base)):
                self._follow(name)
        return self._found

    def _follow(self, name: str) -> None:
        parts = name.split(".")
        if parts[0] in _ELSEWHERE:
            return
        for root in self._roots:
            if self._resolve(root, parts):
                return

    def _resolve(self, at: Path, parts: list[str]) -> bool:
        """As the import system looks: a package, then a module, then a directory that is part of a namespace."""
        for part in parts:
            folder = at / part
            if (folder / _INIT).is_file():
                self._add_package(folder)
                return True
            for suffix in (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES):
                module = at / f"{part}{suffix}"
                if module.is_file():
                    self._add(module)
                    return True
            if not folder.is_dir():
                return False
            at = folder
        return False

    def _add_package(self, folder: Path) -> None:
        if folder.relative_to(self._base).joinpath(_INIT).as_posix() not in self._found:
            for path in files_below(folder):
                self._add(path)

    def _add(self, path: Path) -> None:
        name = path.relative_to(self._base).as_posix()
        if name not in self._found:
            self._found[name] = path
            if path.suffix == ".py":
                self._pending.append(path)


def files_below(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The files in a directory, at any depth, but those of caches, hidden ones and virtual environments; in a fixed order.

    Raises:
        InvalidError: it cannot be read.
    """
    above |= {folder.resolve()}
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InvalidError(f"{folder}: cannot be read: {error.strerror}") from error
    for path in entries:
        if path.name.startswith(".") or path.name == "__pycache__" or path.suffix == ".pyc":
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and not (path / "pyvenv.cfg").exists() and path.resolve() not in above:
            yield from files_below(path, above)


def _imported(source: Path, base: Path) -> set[str]:
    """The full names that a file imports, wherever in it; `from a import b` may mean a and a.b."""
    names: set[str] = set()
    package = PurePosixPath(source.relative_to(base).as_posix()).parts[:-1]
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            names.update(filter(None, [module]))
            names.update(".".join(filter(None, [module, alias.name])) for alias in node.names if alias.name != "*")
    return names


def _tree(path: Path, *, strict: bool = False, shown: Path | None = None) -> ast.Module:
    """What is in a file. A package may hold sources that are no good Python, as templates; only the file itself must be."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InvalidError(f"{shown or path}: cannot be read: {error.strerror}") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python says them when the file is imported
            return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        if not strict:
            return ast.Module([], [])
        place = f", line {error.lineno}: {(error.text or '').strip()!r}" if isinstance(error, SyntaxError) and error.lineno else ""
        problem = error.msg if isinstance(error, SyntaxError) else error
        raise InvalidError(f"{shown or path}{place}: it is no Python {sys.version_info.major}: {problem}") from error
