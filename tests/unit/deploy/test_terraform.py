from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hcl2
import pytest

from tests.unit.deploy.terraform_format import faults

GCP = Path(__file__).parents[3] / "deploy" / "gcp"
FILES = sorted(GCP.glob("*.tf"))
TEXT = "\n".join(path.read_text() for path in FILES)
DOCUMENTS = [hcl2.loads(path.read_text()) for path in FILES]


def blocks(kind: str) -> dict[str, dict[str, Any]]:
    """All blocks of a kind by their labels, `type.name` for resources."""
    found: dict[str, dict[str, Any]] = {}
    for document in DOCUMENTS:
        for made in document.get(kind, []):
            for label, body in made.items():
                inner = body if kind == "resource" else {"": body}
                found.update({f"{label}.{name}".replace('"', "").rstrip("."): value for name, value in inner.items()})
    return found


def plain(value: object) -> Any:
    return value.strip('"') if isinstance(value, str) else value


VARIABLES, RESOURCES = blocks("variable"), blocks("resource")
CLUSTER = RESOURCES["google_dataproc_cluster.pasps"]["cluster_config"][0]
DEFAULTS = {name: plain(body.get("default")) for name, body in VARIABLES.items()}


@pytest.mark.parametrize("path", [*FILES, GCP / "terraform.tfvars.example"], ids=lambda path: path.name)
def test_files_are_written_as_terraform_fmt_writes_them(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\nbcd = 2\n",
        "a   = 1\nbcd   = 2\n",
        "a {\nb = 1\n}\n",
        "a {\n    b = 1\n}\n",
        "a = 1 \n",
        "a = 1",
        "a = 1\n\n",
        "\ta = 1\n",
        "a =  1\n",
        "a  = {\n  b = 1\n}\n",
        "a=1\n",
        'a = {\n  "x:y" = 1\n  zy = 2\n}\n',
    ],
)
def test_what_terraform_fmt_would_change_is_found(text: str) -> None:
    assert faults(text)


def test_a_value_of_several_lines_is_not_aligned_with_others() -> None:
    assert faults('a = {\n  bc = "{"\n  d  = 1\n}\nefg = 2\n\n# h = 1\nij = [for k in l : "${k}"]\n') == []


def test_the_testbed_is_the_papers() -> None:
    assert (DEFAULTS["workers"], DEFAULTS["worker_machine_type"]) == (7, "n1-highcpu-8")
    assert CLUSTER["master_config"][0]["num_instances"] == 3
    assert [plain(component) for component in CLUSTER["software_config"][0]["optional_components"]] == ["ZOOKEEPER"]


def test_no_machine_has_an_external_address_or_a_way_to_the_internet() -> None:
    assert CLUSTER["gce_cluster_config"][0]["internal_ip_only"] is True
    assert RESOURCES["google_compute_subnetwork.pasps"]["private_ip_google_access"] is True
    assert not [name for name in RESOURCES if re.search(r"nat|router|address|forwarding", name)]


def test_the_firewall_lets_in_the_cluster_itself_and_identity_aware_proxy_only() -> None:
    firewalls = {name: body for name, body in RESOURCES.items() if name.startswith("google_compute_firewall.")}
    ranges = [plain(part) for body in firewalls.values() for part in body.get("source_ranges", [])]
    assert ranges == ["35.235.240.0/20"]
    assert all("source_ranges" in body or body["source_tags"] == body["target_tags"] for body in firewalls.values())
    tunnels = firewalls["google_compute_firewall.tunnels"]["allow"]
    assert [len(allowed["ports"]) for allowed in tunnels] == [3]


def test_the_machines_have_two_roles_and_the_bucket_is_not_public() -> None:
    roles = {plain(body["role"]) for body in RESOURCES.values() if "machines" in str(body.get("member"))}
    assert roles == {"roles/dataproc.worker", "roles/secretmanager.secretAccessor"}
    assert plain(RESOURCES["google_storage_bucket.pasps"]["public_access_prevention"]) == "enforced"


def test_no_secret_enters_the_state() -> None:
    version = RESOURCES["google_secret_manager_secret_version.pasps"]
    assert "secret_data" not in version
    assert "secret_data_wo" in version
    assert VARIABLES["secrets"]["ephemeral"] is True
    assert not [name for name in RESOURCES if name.startswith("random_")]


def test_every_variable_is_described_and_used() -> None:
    assert [name for name, body in VARIABLES.items() if not plain(body.get("description"))] == []
    assert [name for name in VARIABLES if f"var.{name}" not in TEXT] == []


def test_the_initialization_action_asks_for_no_metadata_that_the_cluster_does_not_give() -> None:
    script = (GCP / "install-pasps.sh").read_text()
    asked = set(re.findall(r"attribute \"?(pasps-[a-z-]+?)\"?[\s)]", script))
    asked |= {f"pasps-secret-{name}" for name in re.findall(r"\$\(secret (\w+)\)", script)}
    given = {plain(name) for name in CLUSTER["gce_cluster_config"][0]["metadata"] if plain(name).startswith("pasps-")}
    assert asked == given


def test_the_tunnels_script_reads_what_the_output_gives() -> None:
    given = TEXT.partition('output "connection"')[2].partition("])")[0].count(",\n")
    read = re.search(r"read -r (.+) <<<", (GCP / "tunnel").read_text())
    assert read is not None
    assert len(read[1].split()) == given


def test_what_is_said_of_the_costs_is_computed_from_the_defaults() -> None:
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| ([^|]+?) \| \$([\d.]+)[^|]* \| \$([\d.]+) \|$", (GCP / "README.md").read_text(), re.MULTILINE)
    number_of = {what: int(number) for number, what, _, _ in rows}
    machines = DEFAULTS["workers"] + 3
    cores = DEFAULTS["workers"] * 8 + 3 * 4
    assert number_of[f"`{DEFAULTS['worker_machine_type']}`"] == DEFAULTS["workers"]
    assert number_of[f"`{DEFAULTS['master_machine_type']}`"] == 3
    assert number_of["vCPU"] == cores
    assert number_of[f"GB `{DEFAULTS['boot_disk_type']}`"] == machines * DEFAULTS["boot_disk_gb"]
    hourly = {what: int(number) * float(price) / (730 if what.startswith("GB") else 1) for number, what, price, _ in rows}
    assert [f"{hourly[what]:.2f}" for _, what, _, _ in rows] == [said for _, _, _, said in rows]
    total = re.search(r"\$([\d.]+) an hour", (GCP / "README.md").read_text())
    assert total is not None
    assert total[1] == f"{sum(hourly.values()):.2f}"
