"""The answers, and the blueprints that are loaded on the way; in this process, which forgets the user's modules afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from pasps.cluster.driver.load_package import load_package
from pasps.cluster.master.check_package import answer
from pasps.cluster.package.layout import sha256_of
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.package.unpack import unpack
from pasps.control.policies.q_table import BUCKETS, BoltTable, QTable, written

PARTS = """
from pasps import Bolt, Spout, Topology

class S(Spout):
    outputs = ["n"]
    def next_tuple(self):
        pass

class B(Bolt):
    def process(self, tup):
        pass
"""
FLOW = PARTS + "\nclass CheckedFlow(Topology):\n    s = S.spec()\n    b = B.spec(inputs=[s], pool=4)\n"

Pack = Callable[..., Path]


@pytest.fixture
def pack(tmp_path: Path) -> Iterator[Pack]:
    """Makes a package of a topology's file and of others beside it; the modules of the user's are forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    code = tmp_path / "code"

    def packed(text: str, beside: dict[str, str] | None = None, **options: Any) -> Path:
        for name, content in {"checked_flow.py": text, **(beside or {})}.items():
            (code / name).parent.mkdir(parents=True, exist_ok=True)
            (code / name).write_text(content)
        build_package(PackageRequest(code / "checked_flow.py", **options), tmp_path / "p.zip")
        return tmp_path / "p.zip"

    yield packed
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) is not None and str(tmp_path) in str(sys.modules[name].__file__):
            module = sys.modules.pop(name)
            if name in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.unregister_pickle_by_value(module)


def test_a_good_package_is_told_with_its_name_and_its_components(pack: Pack, tmp_path: Path) -> None:
    package = pack(FLOW, options={"topology.max.spout.pending": 5}, workers=3)
    assert answer(package, tmp_path / "there") == {
        "ok": True,
        "name": "checked-flow",
        "workers": 3,
        "components": {"s": {"shape": "spout", "par": 1, "pool": 1}, "b": {"shape": "bolt", "par": 1, "pool": 4}},
    }


def test_it_is_loaded_under_the_name_and_with_the_options_it_was_submitted_with(pack: Pack, tmp_path: Path) -> None:
    package = pack(FLOW + "\nclass Two(CheckedFlow):\n    pass\n", topology="Two", name="other", options={"mine": 1})
    unpacked = unpack(package, tmp_path / "there", sha256=sha256_of(package))
    blueprint = load_package(unpacked)
    assert (blueprint.name, blueprint.config) == ("other", {"mine": 1})
    assert sys.path[0] == str((tmp_path / "there").resolve())


def test_what_the_store_has_by_now_wins_over_the_package(pack: Pack, tmp_path: Path) -> None:
    unpacked = unpack(pack(FLOW, workers=2), tmp_path / "there")
    blueprint = load_package(unpacked, replace(unpacked.submission, name="later", workers=5, pools={"b": 6}))
    assert (blueprint.name, blueprint.config["topology.workers"], blueprint.components["b"].pool) == ("later", 5, 6)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"pools": {"b": 5000}}, "topology", "component 'b': pool must be an integer of 1 to 4096, got 5000"),
        ({"pools": {"b": 9}}, "topology", "pool = 9 is more than topology.max.task.parallelism = 8"),
        ({"pools": {"s": 2}}, "topology", "component 's'"),
        ({"workers": 0}, "config", "topology.workers"),
    ],
)
def test_what_is_wanted_by_now_is_checked_like_a_submission(
    pack: Pack, tmp_path: Path, changes: dict[str, Any], kind: str, words: str
) -> None:
    package = pack(FLOW, options={"topology.max.task.parallelism": 8})
    submission = replace(unpack(package, tmp_path / "before").submission, name="checked-flow")
    found = answer(package, tmp_path / "there", replace(submission, **changes))
    assert (found["ok"], found.get("kind")) == (False, kind), found
    assert words in found["text"]


def test_the_counts_of_now_are_told(pack: Pack, tmp_path: Path) -> None:
    package = pack(FLOW, workers=2)
    submission = replace(unpack(package, tmp_path / "before").submission, name="later", workers=5, pools={"b": 6})
    found = answer(package, tmp_path / "there", submission)
    assert (found["name"], found["workers"], found["components"]["b"]["pool"]) == ("later", 5, 6)


LEARNED = {"pasps.policy": "rlearning"}


def table_of(**pools: int) -> str:
    """What `rlearning` has learned for bolts with these pools, as a submission brings it along."""
    return written(
        QTable("checked-flow", {name: BoltTable(pool, 1.0, ("=" * pool,) * BUCKETS) for name, pool in pools.items()}, 1, 1, 10.0)
    )


def test_a_policy_that_has_learned_this_topology_is_taken(pack: Pack, tmp_path: Path) -> None:
    assert answer(pack(FLOW, options=LEARNED | {"pasps.policy.options.table": table_of(b=4)}), tmp_path / "there")["ok"]


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("raise ValueError('no')", {}, "file", "checked_flow.py: it cannot be imported\nTraceback"),
    ("import sys; sys.exit(3)", {}, "file", "it calls sys.exit(3)"),
    ("raise KeyboardInterrupt", {}, "file", "KeyboardInterrupt"),
    (PARTS, {}, "file", "checked_flow.py: there is no topology in it"),
    (FLOW, {"topology": "Other"}, "file", "there is no topology 'Other' in it"),
    (FLOW, {"name": "a/b"}, "topology", "cannot be a topology's name"),
    (FLOW, {"options": {"topology.worker": 1}}, "config", "'topology.worker' is unknown"),
    (FLOW, {"options": {"pasps.policy": "mine"}}, "config", "'mine'"),
    (FLOW, {"options": {"pasps.policy": "rlearning"}}, "config", "'pasps.policy.options.table' is not set"),
    (FLOW, {"options": LEARNED | {"pasps.policy.options.table": "its.table.json"}}, "config", "names a file that cannot be read"),
    (FLOW, {"options": LEARNED | {"pasps.policy.options.table": table_of(b=3)}}, "config", "a pool of 3 of bolt 'b', which has 4 here"),
    (FLOW, {"options": {"pasps.predictor.url": "nowhere"}}, "config", "nowhere"),
    (FLOW, {"beside": {"checked_flow.py.et.json": "{}"}}, "invalid", "checked_flow.py.et.json: field 'schema'"),
    (FLOW + "\nimport threading\nS.lock = threading.Lock()", {}, "topology", "it cannot be sent to its workers: TypeError"),
    ("import no_such.thing", {}, "dependency", "checked_flow.py: module 'no_such' is missing where the topology is to run; name what"),
    ("import part", {"beside": {"part.py": "import no_such"}}, "dependency", "module 'no_such' is missing"),
    ("import parts.b", {"beside": {"parts/__init__.py": ""}}, "file", "ModuleNotFoundError: No module named 'parts.b'"),
    ("import pasps.nothing", {}, "file", "ModuleNotFoundError: No module named 'pasps.nothing'"),
]


@pytest.mark.parametrize(("text", "options", "kind", "words"), REFUSED, ids=[f"{row[2]}-{index}" for index, row in enumerate(REFUSED)])
def test_what_cannot_run_is_refused_in_the_users_words(
    pack: Pack, tmp_path: Path, text: str, options: dict[str, Any], kind: str, words: str
) -> None:
    found = answer(pack(text, **options), tmp_path / "there")
    assert (found["ok"], found["kind"]) == (False, kind), found
    assert words in found["text"]
    # neither our frames nor the directory of this check
    assert str(tmp_path) not in found["text"]
    assert "load_file.py" not in found["text"]


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_text("no")
    found = answer(tmp_path / "p.zip", tmp_path / "there")
    assert found == {
        "ok": False,
        "kind": "package",
        "text": "the package: expected a package as `pasps submit` makes them: File is not a zip file; submit it again",
    }


def test_an_environment_with_the_missing_module_in_a_namespace_is_still_a_dependency(pack: Pack, tmp_path: Path) -> None:
    found = answer(pack("import words.no_such", {"unused.py": ""}), tmp_path / "there")
    assert found["kind"] == "dependency"


WITH_PATHS = (
    PARTS
    + """
from pasps.connectors.http_in import HttpSpout
from pasps.connectors.lines import LineSpout
from pasps.connectors.redis_streams import RedisStreamSpout
from pasps.connectors.sql import SqlSink
from pasps.spouts import TraceSpout

class Own(B):
    path_keys = {"own.model": "model.bin"}

class CheckedFlow(Topology):
    config = {CONFIG}
    lines = LineSpout.spec()
    posted = HttpSpout.spec()
    streamed = RedisStreamSpout.spec()
    traced = TraceSpout.spec()
    own = Own.spec(inputs=[lines])
    sink = SqlSink.spec(inputs=[posted])
"""
)
WHOLE = {
    "lines.path": "/var/log/app*.log",
    "sql.url": "sqlite:////var/lib/out.db",
    "trace.file": "~/rates.csv",
    "own.model": "/models/m",
    "http.address.file": None,
}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, ""),
        ({"sql.url": "postgresql+psycopg://user@host/relative"}, ""),
        ({"sql.url": "sqlite+pysqlite:////out.db?timeout=5"}, ""),
        ({"lines.path": 5}, ""),
        ({"lines.path": "logs/*.log"}, "component 'lines': configuration key 'lines.path' is the relative path 'logs/*.log'"),
        ({"trace.file": "rates.csv"}, "component 'traced': configuration key 'trace.file' is the relative path 'rates.csv'"),
        ({"http.address.file": "address"}, "component 'posted': configuration key 'http.address.file' is the relative path 'address'"),
        ({"http.token.file": "./token"}, "component 'posted': configuration key 'http.token.file'"),
        ({"redis.password.file": "secret"}, "component 'streamed': configuration key 'redis.password.file'"),
        ({"sql.password.file": "secret"}, "component 'sink': configuration key 'sql.password.file'"),
        ({"sql.url": "sqlite:///out.db"}, "component 'sink': configuration key 'sql.url' is the relative path 'out.db'"),
        ({"sql.url": "sqlite:///file:out.db?uri=true"}, "component 'sink': configuration key 'sql.url' is the relative path 'out.db'"),
        ({"sql.url": None}, "component 'sink': configuration key 'sql.url' is the relative path 'pasps.db'"),
        ({"own.model": None}, "component 'own': configuration key 'own.model' is the relative path 'model.bin'"),
    ],
)
def test_a_path_that_begins_elsewhere_on_each_machine_is_refused(pack: Pack, tmp_path: Path, config: dict[str, Any], said: str) -> None:
    told = answer(pack(WITH_PATHS.replace("{CONFIG}", repr(WHOLE)), options=config), tmp_path / "there")
    assert told["ok"] == (said == ""), told
    assert said in told.get("text", "")
    if said:
        assert told["kind"] == "config"
        assert "give an absolute path" in told["text"]
