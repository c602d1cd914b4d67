"""What a release is made of: one version, a whole source distribution, true tags."""

import re
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import odradek
from tests.built import BESIDE, ROOT, build_source_distribution, build_wheel, unpack

VERSION = odradek.__version__


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_source_distribution(tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(sdist, tmp_path_factory.mktemp("unpacked"))


def test_the_newest_release_of_the_changelog_is_this_version() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(re.escape(VERSION) + r" - \d{4}-\d\d-\d\d", headings[1])


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]


def test_the_source_distribution_has_what_a_user_needs(
    sdist: Path, unpacked: Path
) -> None:
    assert sdist.name == f"odradek-{VERSION}.tar.gz"
    assert unpacked.name == f"odradek-{VERSION}"
    for folder in BESIDE:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert (unpacked / path.relative_to(ROOT)).is_file(), path
    for name in "Makefile", "LICENSE", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md":
        assert (unpacked / name).is_file(), name
    assert not (unpacked / "tests").exists()
    assert not list(unpacked.rglob("*.so"))


def test_the_source_distribution_has_every_source(unpacked: Path) -> None:
    """The links are folders there, so that it can be unpacked anywhere."""
    assert not [path for path in unpacked.rglob("*") if path.is_symlink()]
    for folder in (ROOT / "odradek").iterdir():
        for path in folder.resolve().rglob("*.*"):
            if path.suffix in (".py", ".pyi", ".c", ".h", ".properties"):
                inside = Path(
                    "odradek", folder.name, path.relative_to(folder.resolve())
                )
                assert (unpacked / inside).is_file(), inside


def test_an_image_can_be_built_of_the_source_distribution(unpacked: Path) -> None:
    rules = (unpacked / ".dockerignore").read_text().splitlines()
    wanted = {rule[1:] for rule in rules if rule.startswith("!")}
    top = {
        path.readlink().name
        for path in (ROOT / "odradek").iterdir()
        if path.is_symlink()
    }
    for name in wanted - (top - {"config"}):
        assert (unpacked / name).exists(), name
    for name in top:
        assert (unpacked / "odradek" / name).is_dir(), name


@pytest.mark.long
def test_without_a_compiler_the_wheel_claims_no_platform(
    sdist: Path, tmp_path: Path
) -> None:
    wheel = build_wheel(sdist, tmp_path, compiler="false")
    assert wheel.name == f"odradek-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = f"odradek-{VERSION}.dist-info"
        said = Parser().parsestr(archive.read(f"{info}/WHEEL").decode())
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entries = archive.read(f"{info}/entry_points.txt").decode()
    assert said["Root-Is-Purelib"] == "true"
    assert said.get_all("Tag") == ["py3-none-any"]
    assert metadata["Version"] == VERSION
    assert not [name for name in names if name.endswith(".so")]
    examples = {path.name for path in (ROOT / "config").iterdir()}
    assert {f"odradek/config/{name}" for name in examples} <= set(names)
    assert "[pytest11]\nodradek = odradek.testing.plugin\n" in entries
    assert "odradek/testing/plugin/__init__.py" in names
    # Nothing is beside the packages: no platlib, no tests.
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"odradek", "pyspark_odradek", info}
