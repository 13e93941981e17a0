"""Checks every provider, resource and data source of the .tf files against the Google provider's own schema.

The provider itself is not needed: the package cdktf-cdktf-provider-google has classes that were generated from its schema, and
this reads them as text, out of the wheel, without importing or installing anything. `make test` does not run it, since it needs
that package (49 MB):

    python deploy/gcp/check_schema.py --wheels /tmp/cdktf

downloads it into that directory when it is not there yet. Exit codes: 0 all is well, 1 something is wrong, 2 it cannot be checked.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import hcl2

PACKAGE = "cdktf-cdktf-provider-google==16.12.1"
MODULES = "cdktf_cdktf_provider_google"
META = frozenset({"connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner", "provisioners"})
"""Terraform's own arguments of every resource and data source."""

_DOCUMENTED = re.compile(r"^\s*:param (?P<name>\w+):.*\{@link \S+#(?P<terraform>\w+) ", re.MULTILINE)
_VERSION = re.compile(r"providers/hashicorp/google/(?P<version>[\d.]+)")
_REFERENCE = re.compile(r"\b(?P<data>data\.)?(?P<type>google_\w+)\.\w+(?:\[(?:[^][]|\[[^]]*\])*\])?\.(?P<attribute>\w+)")

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument or nested block; `nested` is the class that describes what is inside a block, None for a plain argument."""

    required: bool
    nested: str | None


@dataclass(frozen=True, slots=True)
class Schema:
    """One resource, data source or provider: its classes by name, and the two that matter."""

    classes: Mapping[str, ast.ClassDef]
    config: str
    attributes: frozenset[str]
    version: str

    def arguments(self, name: str) -> dict[str, Argument]:
        """What a class takes, by Terraform's names."""
        taken = next((node for node in self.classes[name].body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
        if taken is None:
            return {}
        # a few names differ from Terraform's, as `count`; the link in the documentation has the right one
        names = {match["name"]: match["terraform"] for match in _DOCUMENTED.finditer(ast.get_docstring(taken) or "")}
        pairs = zip(taken.args.kwonlyargs, taken.args.kw_defaults, strict=True)
        return {
            names.get(argument.arg, argument.arg): Argument(default is None, self._nested(argument.annotation))
            for argument, default in pairs
            if argument.arg not in META
        }

    def _nested(self, annotation: ast.expr | None) -> str | None:
        """The class that an annotation speaks of, if it is one of the same module."""
        nodes = list(ast.walk(annotation)) if annotation else []
        words = [node.id if isinstance(node, ast.Name) else node.value for node in nodes if isinstance(node, ast.Name | ast.Constant)]
        return next((word for word in words if isinstance(word, str) and word in self.classes), None)


def schema_of(text: str) -> Schema:
    """Reads one generated module.

    Raises:
        ValueError: it has no class that looks like a configuration.
    """
    tree = ast.parse(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    configs = [name for name, node in classes.items() if "TerraformMetaArguments" in " ".join(map(ast.unparse, node.bases))]
    configs = configs or [name for name in classes if name.endswith("ProviderConfig")]
    if len(configs) != 1:
        raise ValueError(f"expected one class of a configuration, got {configs!r}")
    attributes = {node.name for made in classes.values() for node in made.body if isinstance(node, ast.FunctionDef)}
    version = _VERSION.search(text)
    return Schema(classes, configs[0], frozenset(attributes), version["version"] if version else "unknown")


class Provider:
    """The provider's schema, read out of the wheel module by module as it is asked for."""

    def __init__(self, wheel: Path) -> None:
        self._wheel = zipfile.ZipFile(wheel)
        self.schema = cache(self._schema)

    def _schema(self, name: str) -> Schema | None:
        try:
            text = self._wheel.read(f"{MODULES}/{name}/__init__.py").decode()
        except KeyError:
            return None
        return schema_of(text)


def findings(body: Body, schema: Schema, name: str, where: str) -> Iterator[str]:
    """What is wrong in one block and in those inside it: unknown, missing, a block for an argument or the other way round."""
    known = schema.arguments(name)
    written = _written(body)
    for word in sorted(argument for argument, about in known.items() if about.required and argument not in written):
        yield f"{where}: {word} is required"
    for word, value in written.items():
        about, at = known.get(word), f"{where}.{word}"
        if about is None:
            yield f"{at}: unknown; known are {', '.join(sorted(known)) or 'none'}"
        elif _is_block(value) and about.nested is None:
            yield f"{at}: an argument, written as a block"
        elif about.nested is not None and not _is_block(value):
            yield f"{at}: a block, written as an argument"
        elif about.nested is not None:
            for inner in value:
                yield from findings(inner, schema, about.nested, at)


def _written(body: Body) -> dict[str, Any]:
    """Without Terraform's own and the parser's marks; `dynamic "x" { content { ... } }` is one more block x."""
    written = {word: value for word, value in body.items() if word not in META and word != "dynamic" and not word.startswith("__")}
    for made in body.get("dynamic", []):
        for label, block in made.items():
            if not label.startswith("__"):
                written[_unquoted(label)] = written.get(_unquoted(label), []) + block["content"]
    return written


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "__is_block__" in item for item in value)


def _unquoted(label: str) -> str:
    return label.strip('"')


def blocks_of(document: Body) -> Iterator[tuple[str, str, Body]]:
    """Module, where, and body of each provider, resource and data source of a parsed file."""
    for made in document.get("provider", []):
        for label, body in made.items():
            if _unquoted(label) == "google":
                yield "provider", "provider.google", body
    for kind, prefix in (("resource", ""), ("data", "data_")):
        for made in document.get(kind, []):
            for label, named in made.items():
                if label.startswith("__"):
                    continue
                for name, body in named.items():
                    yield _module(prefix, _unquoted(label)), f"{_unquoted(label)}.{_unquoted(name)}", body


def _module(prefix: str, type_name: str) -> str:
    return f"{prefix}google_{type_name.removeprefix('google_')}" if prefix else type_name.removeprefix("google_")


def check(texts: Mapping[str, str], provider: Provider) -> tuple[int, list[str]]:
    """How many blocks were looked at, and what is wrong with them and with what the files read of others."""
    wrong: list[str] = []
    looked_at = 0
    for path, text in texts.items():
        for module, where, body in blocks_of(cast("Body", hcl2.loads(text))):
            schema = provider.schema(module)
            if schema is None:
                wrong.append(f"{path}: {where}: the provider has no such thing")
                continue
            looked_at += 1
            wrong += [f"{path}: {found}" for found in findings(body, schema, schema.config, where)]
        wrong += [f"{path}: {found}" for found in _unknown_references(text, provider)]
    return looked_at, wrong


def _unknown_references(text: str, provider: Provider) -> Iterator[str]:
    for match in _REFERENCE.finditer(re.sub(r"(?m)^\s*#.*$", "", text)):
        schema = provider.schema(_module("data_" if match["data"] else "", match["type"]))
        if schema is None or match["attribute"] not in schema.attributes:
            yield f"{match[0]}: {match['type']} has no {match['attribute']}"


def wheel_in(directory: Path) -> Path:
    """The package's wheel in a directory; it is downloaded when it is not there."""
    name, _, version = PACKAGE.partition("==")
    wanted = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(directory.glob(wanted)):
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory), PACKAGE], check=True)
    return next(directory.glob(wanted))


def main(words: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheels", type=Path, required=True, metavar="DIR", help="where the package is, or is downloaded to")
    parser.add_argument("--terraform", type=Path, default=Path(__file__).parent, metavar="DIR", help="the .tf files (default: beside this)")
    options = parser.parse_args(words)
    try:
        provider = Provider(wheel_in(options.wheels))
    except (OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
        sys.stderr.write(f"check_schema: no schema to check against: {error}\n")
        return 2
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(options.terraform.glob("*.tf"))}
    looked_at, wrong = check(texts, provider)
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    schema = provider.schema("provider")
    sys.stdout.write(f"{looked_at} blocks, {len(wrong)} findings; provider google {schema.version if schema else 'unknown'}\n")
    return 1 if wrong or not looked_at else 0


if __name__ == "__main__":
    raise SystemExit(main())
