from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from deploy.gcp.check_schema import MODULES, PACKAGE, Provider, check, main, schema_of

# in the form of the generated classes, as far as it is read
DISK = '''
class PlateDisk:
    def __init__(self, *, size: jsii.Number, kind: typing.Optional[builtins.str] = None) -> None:
        """
        :param size: How large. Docs at Terraform Registry: {@link https://x/providers/hashicorp/google/6.50.0/docs#size Plate#size}
        :param kind: Which. Docs at Terraform Registry: {@link https://x/docs#kind Plate#kind}
        """
'''
PLATE = f'''
class Plate(_cdktf_1.TerraformResource):
    def colour(self) -> str: ...
{DISK}
class PlateConfig(_cdktf_1.TerraformMetaArguments):
    def __init__(
        self,
        *,
        count: typing.Optional[jsii.Number] = None,
        name: builtins.str,
        count_attribute: typing.Optional[jsii.Number] = None,
        labels: typing.Optional[typing.Mapping[builtins.str, builtins.str]] = None,
        disk: typing.Optional[typing.Union[_cdktf_1.IResolvable, typing.Sequence[typing.Union["PlateDisk", typing.Dict]]]] = None,
    ) -> None:
        """
        :param count_attribute: How many. Docs at Terraform Registry: {{@link https://x/docs#number Plate#number}}
        """
'''
GOOGLE = """
class GoogleProviderConfig:
    def __init__(self, *, project: typing.Optional[builtins.str] = None) -> None: ...
"""
GOOD = """
provider "google" {
  project = "p"
}

resource "google_plate" "one" {
  count  = 2
  name   = "a"
  number = 3
  labels = { a = "b" }

  disk {
    size = 1
  }

  dynamic "disk" {
    for_each = [2]

    content {
      size = disk.value
    }
  }
}

output "colour" {
  value = google_plate.one[var.at[0]].colour
}
"""


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    name, _, version = PACKAGE.partition("==")
    with zipfile.ZipFile(tmp_path / f"{name.replace('-', '_')}-{version}-py3-none-any.whl", "w") as wheel:
        for module, text in {"plate": PLATE, "data_google_plate": PLATE, "provider": GOOGLE}.items():
            wheel.writestr(f"{MODULES}/{module}/__init__.py", text)
    return tmp_path


def wrong(text: str, wheels: Path) -> list[str]:
    return check({"a.tf": text}, Provider(next(wheels.glob("*.whl"))))[1]


def test_what_the_schema_has_passes(wheels: Path) -> None:
    assert check({"a.tf": GOOD}, Provider(next(wheels.glob("*.whl")))) == (2, [])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("number = 3", "nummer = 3", "google_plate.one.nummer: unknown; known are disk, labels, name, number"),
        ('name   = "a"', "", "google_plate.one: name is required"),
        ("size = 1", "sise = 1", "google_plate.one.disk.sise: unknown; known are kind, size"),
        ("size = 1", "", "google_plate.one.disk: size is required"),
        ("size = disk.value", "", "google_plate.one.disk: size is required"),
        ('dynamic "disk"', 'dynamic "disc"', "google_plate.one.disc: unknown; known are disk, labels, name, number"),
        ("labels = {", "labels {", "google_plate.one.labels: an argument, written as a block"),
        ('"google_plate" "one"', '"google_platter" "one"', "google_platter.one: the provider has no such thing"),
        ("].colour", "].color", "google_plate.one[var.at[0]].color: google_plate has no color"),
        ('project = "p"', 'projekt = "p"', "provider.google.projekt: unknown; known are project"),
    ],
)
def test_what_the_schema_does_not_have_is_found(old: str, new: str, expected: str, wheels: Path) -> None:
    assert GOOD.count(old) == 1
    assert f"a.tf: {expected}" in wrong(GOOD.replace(old, new), wheels)


def test_a_block_written_as_an_argument_is_found(wheels: Path) -> None:
    text = 'data "google_plate" "one" {\n  name = "a"\n  disk = { size = 1 }\n}\n'
    assert wrong(text, wheels) == ["a.tf: google_plate.one.disk: a block, written as an argument"]


def test_a_module_without_a_configuration_is_not_taken_for_one() -> None:
    with pytest.raises(ValueError, match="expected one class"):
        schema_of(DISK)


@pytest.mark.parametrize(("name", "code"), [('name = "a"', 0), ("nom = 1", 1)])
def test_the_exit_code_says_whether_something_is_wrong(name: str, code: int, wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (wheels / "a.tf").write_text(f'resource "google_plate" "one" {{\n  {name}\n}}\n')
    assert main(["--wheels", str(wheels), "--terraform", str(wheels)]) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 blocks, ")


def test_a_directory_without_terraform_files_is_no_success(wheels: Path) -> None:
    assert main(["--wheels", str(wheels), "--terraform", str(wheels / "nothing")]) == 1
