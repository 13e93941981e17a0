"""What is kept of a trained model, and that a strange or broken one is refused before it can do anything."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor_service.errors import ArtifactError, TrainingError
from predictor_service.trained.artifact import Artifact, Loaded, check_free, form_of, load, packed, write
from predictor_service.trained.artifacts import MANIFEST_NAME, WEIGHTS_NAME, Artifacts
from predictor_service.trained.manifest import MODELS, MOST_NUMBERS, check_name
from predictor_service.trained.serving import trained_forecast
from tests.unit.predictor_service.artifact_builder import (
    HORIZON,
    WINDOW,
    replace_weights,
    spoil_manifest,
    toy,
    toy_artifact,
    toy_rows,
)


def refused(directory: Path, name: str = "mine") -> str:
    with pytest.raises(ArtifactError) as raised:
        load(Artifacts(directory), name)
    assert raised.value.status == 422
    assert len(raised.value.detail) < 1_000
    return raised.value.detail


def arrays_of(model: str = "gru") -> dict[str, Any]:
    with np.load(io.BytesIO(toy(model).weights)) as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("model", MODELS)
def test_what_was_written_forecasts_as_what_was_trained(model: str, tmp_path: Path) -> None:
    artifact = load(Artifacts(toy_artifact(tmp_path, model=model)), "mine")
    trained = toy(model)
    assert artifact.manifest == trained.manifest
    samples = toy_rows()[-WINDOW:]
    same = Artifact("same", trained.manifest, arrays_of(model))
    forecast = trained_forecast(artifact, samples, HORIZON, 1.0, [0.1, 0.9])
    assert forecast.predictions == trained_forecast(same, samples, HORIZON, 1.0, None).predictions
    assert forecast.predictions == pytest.approx([sample for sample in forecast.predictions if 20 < sample < 180])


@pytest.mark.parametrize("model", MODELS)
def test_the_weights_are_an_npz_that_numpy_reads_without_pickle(model: str) -> None:
    assert {name: array.shape for name, array in arrays_of(model).items()} == form_of(toy(model).manifest).shapes()


def test_the_manifest_says_how_it_came_to_be(tmp_path: Path) -> None:
    content = json.loads((toy_artifact(tmp_path) / "mine" / MANIFEST_NAME).read_text())
    assert (content["format"], content["version"], content["model"]) == ("pasps-artifact", 1, "gru")
    assert (content["window"], content["horizon"], content["step_seconds"]) == (WINDOW, HORIZON, 1.0)
    assert content["trace"]["name"] == "toy.csv"
    assert content["libraries"]["numpy"] == np.__version__


# ---- names


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../mine", "a/b", "/etc", "a\\b", "mine/", "mi ne", "mine\n", "mine\0", ".hidden", "-x", "1", "é", "a.b", "m" * 65],
)
def test_a_name_is_no_path(name: str, tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    assert "expected a name that begins with a letter" in refused(tmp_path, name)


def test_a_name_that_is_nearly_right_gets_the_right_one(tmp_path: Path) -> None:
    toy_artifact(tmp_path, "traffic")
    assert "there is no 'trafic'; did you mean 'traffic'?" in refused(tmp_path, "trafic")
    assert "there is no 'x'; there are traffic" in refused(tmp_path, "x")


def test_without_any_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    assert "there are none; `pasps predictor train` makes one" in refused(tmp_path, "mine")
    with pytest.raises(ArtifactError, match="this service was given no artifacts; start it with --artifacts DIR"):
        load(Artifacts(None), "mine")


def test_only_directories_with_a_manifest_and_a_name_are_listed(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    toy_artifact(tmp_path / "far", "away")
    (tmp_path / "far" / "away").rename(tmp_path / ".made-half")
    assert Artifacts(tmp_path).names() == ["mine"]


def test_a_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="the directory of artifacts cannot be read: No such file"):
        Artifacts(tmp_path / "gone").names()


# ---- manifests


SPOILED: list[tuple[dict[str, Any], str]] = [
    ({"version": 2}, "version: Input should be 1"),
    ({"format": "other"}, "format: Input should be 'pasps-artifact'"),
    ({"model": "transformer"}, "model: Input should be 'arima', 'svr', 'lstm', 'gru', 'bilstm' or 'bigru'"),
    ({"model": "arima"}, "expected parameters of kind 'autoregressive' for model 'arima', got 'recurrent'"),
    ({"window": None}, "window: Field required"),
    ({"window": 10**9}, "window: Input should be less than or equal to 2000"),
    ({"window": "8"}, "window: Input should be a valid integer"),
    ({"window": 8.0}, "window: Input should be a valid integer"),
    ({"window": -1}, "window: Input should be greater than or equal to 2"),
    ({"horizon": 10**6}, "horizon: Input should be less than or equal to 1000"),
    ({"horizon": True}, "horizon: Input should be a valid integer"),
    ({"step_seconds": 0}, "step_seconds: Input should be greater than 0"),
    ({"step_seconds": float("inf")}, "step_seconds: Input should be"),
    ({"scaler.low": float("nan")}, "scaler.low: Input should be"),
    ({"scaler.high": -5.0}, "scaler: Value error, expected low below high"),
    ({"scaler.deviation": 0.0}, "scaler.deviation: Input should be greater than 0"),
    ({"parameters.units": 10**6}, "parameters.recurrent.units: Input should be less than or equal to 512"),
    ({"parameters.layers": 0}, "parameters.recurrent.layers: Input should be greater than or equal to 1"),
    ({"parameters.kind": "code"}, "parameters: Input tag 'code' found using 'kind' does not match"),
    ({"parameters.shape": [1]}, "parameters.recurrent.shape: Extra inputs are not permitted"),
    ({"residuals.levels": [0.5]}, "residuals.levels: List should have at least 2 items"),
    ({"residuals.levels.0": 0.6}, "residuals: Value error, expected levels that rise"),
    ({"residuals.offsets.0": [0.0]}, "residuals: Value error, expected offsets of"),
    ({"residuals.offsets.0.0": 1e9}, "residuals: Value error, expected offsets that do not fall"),
    ({"residuals.horizons": [1, 2, 900]}, "expected residuals up to the horizon of 3"),
    ({"weights.bytes": 10**12}, "weights.bytes: Input should be less than or equal to"),
    ({"weights.sha256": "../../etc/passwd"}, "weights.sha256: String should match"),
    ({"command": "rm"}, "command: Extra inputs are not permitted"),
    ({"x" * 5_000: 1, "y": 2, "z": 3, "w": 4}, "and 1 more"),
]


@pytest.mark.parametrize(("changes", "told"), SPOILED, ids=[told[:40] for _, told in SPOILED])
def test_a_manifest_that_says_odd_things_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    spoil_manifest(toy_artifact(tmp_path) / "mine", changes)
    assert told in refused(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"format": "pasps-artifact"}', b"\xff\xfe", b"[" * 100_000, b'{"a": ' * 10_000, pickle.dumps({"a": 1})],
    ids=["empty", "cut", "list", "null", "bare", "no text", "deep list", "deep object", "pickle"],
)
def test_what_is_no_manifest_is_refused(content: bytes, tmp_path: Path) -> None:
    (toy_artifact(tmp_path) / "mine" / MANIFEST_NAME).write_bytes(content)
    assert "artifact 'mine': its manifest is none of version 1" in refused(tmp_path)


def test_a_manifest_of_many_bytes_is_not_read(tmp_path: Path) -> None:
    with (toy_artifact(tmp_path) / "mine" / MANIFEST_NAME).open("ab") as file:
        file.truncate(2**30)
    assert "manifest.json has 1,073,741,824 bytes, at most 262,144 are read" in refused(tmp_path)


def test_a_pipe_in_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    path = toy_artifact(tmp_path) / "mine"
    for name in (WEIGHTS_NAME, MANIFEST_NAME):
        (path / name).unlink()
        os.mkfifo(path / name)
        assert f"{name} is no file" in refused(tmp_path)


def test_a_directory_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    path = toy_artifact(tmp_path) / "mine"
    (path / WEIGHTS_NAME).unlink()
    (path / WEIGHTS_NAME).mkdir()
    assert "weights.npz" in refused(tmp_path)


# ---- weights


def test_weights_that_were_cut_are_refused(tmp_path: Path) -> None:
    path = toy_artifact(tmp_path) / "mine" / WEIGHTS_NAME
    path.write_bytes(path.read_bytes()[:-10])
    assert "weights.npz is not the file that its manifest was written with; copy both again" in refused(tmp_path)


def test_weights_of_another_artifact_are_refused(tmp_path: Path) -> None:
    path = toy_artifact(tmp_path) / "mine" / WEIGHTS_NAME
    path.write_bytes(toy("lstm").weights[: path.stat().st_size])
    assert "is not the file" in refused(tmp_path)


def test_an_artifact_without_weights_is_none_and_is_not_said_to_be_unknown(tmp_path: Path) -> None:
    (toy_artifact(tmp_path) / "mine" / WEIGHTS_NAME).unlink()
    assert refused(tmp_path) == "artifact 'mine': weights.npz is missing; copy both files of it again"


def compressed() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays_of())
    return file.getvalue()


def pickled() -> bytes:
    file = io.BytesIO()
    arrays: dict[str, Any] = {**arrays_of(), "dense.bias": np.array([os.system, "true", None], dtype=object)}
    np.savez(file, allow_pickle=True, **arrays)
    return file.getvalue()


def changed(name: str, values: Any) -> bytes:
    return packed({**arrays_of(), name: values})


def written(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def without_end(name: str) -> bytes:
    """An array whose header promises more numbers than there are."""
    file, arrays = io.BytesIO(), arrays_of()
    with zipfile.ZipFile(file, "w") as archive:
        for each, values in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, values)
            archive.writestr(f"{each}.npy", part.getvalue()[: -4 if each == name else None])
    return file.getvalue()


def twice(name: str) -> bytes:
    file = io.BytesIO(toy().weights)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(f"{name}.npy", archive.read(f"{name}.npy"))
    return file.getvalue()


def in_columns() -> bytes:
    arrays = arrays_of()
    return written(**{name: np.asfortranarray(values) for name, values in arrays.items()})


def header_of(text: str) -> Callable[[], bytes]:
    """A header that is written by hand before the numbers of `dense.bias`."""

    def made() -> bytes:
        header = text.encode().ljust(117) + b"\n"
        part = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(4 * HORIZON)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name in arrays_of():
                content = part
                if name != "dense.bias":
                    buffer = io.BytesIO()
                    np.lib.format.write_array(buffer, arrays_of()[name])
                    content = buffer.getvalue()
                archive.writestr(f"{name}.npy", content)
        return file.getvalue()

    return made


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "no zip": (lambda: b"x" * 1_000, "File is not a zip file"),
    "a pickle": (lambda: pickle.dumps(list(range(200))), "File is not a zip file"),
    "empty zip": (written, "expected the arrays"),
    "an array less": (lambda: packed({name: each for name, each in arrays_of().items() if name != "dense.bias"}), "expected the arrays"),
    "an array more": (lambda: packed({**arrays_of(), "more": np.zeros(3)}), "expected the arrays"),
    "an array twice": (lambda: twice("dense.bias"), "expected the arrays"),
    "a path": (lambda: packed({**{f"../{name}": each for name, each in arrays_of().items()}}), "expected the arrays"),
    "compressed": (compressed, "not compressed"),
    "pickled objects": (pickled, "expected dense.bias"),
    "too long": (lambda: changed("dense.bias", np.zeros(300)), "expected dense.bias with 3 numbers"),
    "too short": (lambda: changed("dense.bias", np.zeros(0)), "of shape (3,), got float32 of shape (0,)"),
    "another shape": (lambda: changed("dense.bias", np.zeros((1, 3))), "expected dense.bias as 32-bit floats of shape (3,)"),
    "doubles": (lambda: written(**{name: each.astype("<f8") for name, each in arrays_of().items()}), "expected layer0.forward.input"),
    "integers": (lambda: written(**{name: each.astype("<i4") for name, each in arrays_of().items()}), "32-bit floats"),
    "big-endian": (lambda: written(**{name: each.astype(">f4") for name, each in arrays_of().items()}), "32-bit floats"),
    "by columns": (in_columns, "32-bit floats"),
    "cut within": (lambda: without_end("dense.bias"), "cannot reshape array of size 2 into shape (3,)"),
    "NaN": (lambda: changed("dense.bias", np.array([0.0, np.nan, 0.0])), "expected finite numbers"),
    "infinity": (lambda: changed("dense.bias", np.array([0.0, np.inf, 0.0])), "expected finite numbers"),
    "huge numbers": (lambda: changed("dense.bias", np.array([0.0, 1e30, 0.0])), "expected finite numbers of at most"),
    "a header of huge shape": (header_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999,), }"), "of shape (3,), got"),
    "a header of objects": (header_of("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), "32-bit floats"),
    "a header that is code": (header_of("__import__('os').system('true')"), "malformed node"),
}


@pytest.mark.parametrize("name", BAD)
def test_weights_that_are_not_those_of_the_model_are_refused(name: str, tmp_path: Path) -> None:
    make, told = BAD[name]
    replace_weights(toy_artifact(tmp_path) / "mine", make())
    detail = refused(tmp_path)
    assert told in detail or "bytes, at most" in detail, detail


@settings(max_examples=150)
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=40))
def test_whatever_stands_in_the_weights_it_is_numbers_or_refused(at: int, other: bytes) -> None:
    content = toy().weights
    at %= len(content)
    with TemporaryDirectory() as folder:
        replace_weights(toy_artifact(Path(folder)) / "mine", content[:at] + other + content[at + len(other) :])
        try:
            artifact = load(Artifacts(Path(folder)), "mine")
        except ArtifactError:
            return
        assert all(np.isfinite(values).all() for values in artifact.arrays.values())


def test_a_model_that_claims_to_be_huge_is_refused_before_its_weights_are_read(tmp_path: Path) -> None:
    path = toy_artifact(tmp_path, model="bigru") / "mine"
    spoil_manifest(path, {"parameters.units": 512, "parameters.layers": 4, "horizon": 1_000})
    (path / WEIGHTS_NAME).write_bytes(b"")
    assert f"at most {MOST_NUMBERS:,}" in refused(tmp_path) or "is not the file" in refused(tmp_path)
    path = toy_artifact(tmp_path, "vectors", model="svr") / "vectors"
    spoil_manifest(path, {"parameters.vectors": 10_000, "window": 2_000})
    assert "its arrays would have 20,030,003 numbers" in refused(tmp_path, "vectors")


def test_any_byte_that_is_changed_is_noticed(tmp_path: Path) -> None:
    path = toy_artifact(tmp_path) / "mine" / WEIGHTS_NAME
    content = path.read_bytes()
    for at in range(0, len(content), 97):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert "is not the file" in refused(tmp_path)


# ---- writing


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    before = (tmp_path / "mine" / MANIFEST_NAME).read_bytes()
    with pytest.raises(TrainingError, match="it is there already; give another name, or --overwrite"):
        write(toy("lstm").manifest, toy("lstm").weights, tmp_path / "mine")
    assert (tmp_path / "mine" / MANIFEST_NAME).read_bytes() == before
    write(toy("lstm").manifest, toy("lstm").weights, tmp_path / "mine", overwrite=True)
    assert load(Artifacts(tmp_path), "mine").manifest.model == "lstm"
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]


def test_a_directory_that_is_no_artifact_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    (tmp_path / "file").write_text("more")
    for name in ("thesis", "file"):
        with pytest.raises(TrainingError, match="what is there is no artifact, and is not replaced"):
            check_free(tmp_path / name, overwrite=True)


def test_a_directory_whose_name_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"its last part names the artifact: expected a name that begins with a letter.*got 'v1.0'"):
        check_free(tmp_path / "v1.0", overwrite=False)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match=r"the artifact cannot be written: (File exists|Not a directory)"):
        write(toy().manifest, toy().weights, tmp_path / "file" / "mine")


def test_the_same_artifact_is_the_same_bytes() -> None:
    assert packed(arrays_of()) == toy().weights


@pytest.mark.parametrize("name", ["a", "A", "bigru-2026_1", "m" * 64])
def test_names_that_are_right(name: str) -> None:
    check_name(name)


# ---- kept in memory


def test_a_file_is_read_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    artifacts, loaded = Artifacts(toy_artifact(tmp_path)), Loaded()
    place, _ = artifacts.find("mine")
    first = loaded.artifact(place)
    assert loaded.artifact(place) is first
    write(toy("lstm").manifest, toy("lstm").weights, tmp_path / "mine", overwrite=True)
    place, manifest = artifacts.find("mine")
    assert manifest.model == "lstm"
    assert loaded.artifact(place).manifest.model == "lstm"


def test_one_that_was_replaced_between_two_looks_is_not_taken_for_the_other(tmp_path: Path) -> None:
    """Samples were checked against the first one's window."""
    place, _ = Artifacts(toy_artifact(tmp_path)).find("mine")
    write(toy("lstm").manifest, toy("lstm").weights, tmp_path / "mine", overwrite=True)
    with pytest.raises(ArtifactError, match="artifact 'mine' was replaced a moment ago; ask again"):
        Loaded().artifact(place)


def test_one_that_is_broken_does_not_keep_the_others_from_being_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    toy_artifact(tmp_path, "good")
    (toy_artifact(tmp_path, "bad") / "bad" / WEIGHTS_NAME).write_bytes(b"")
    Loaded().load_all(Artifacts(tmp_path))
    assert "artifact 'bad': weights.npz is not the file" in caplog.text
    assert "good" not in caplog.text
    Loaded().load_all(Artifacts(tmp_path / "gone"))
    assert "cannot be read" in caplog.text
    Loaded().load_all(Artifacts(None))
