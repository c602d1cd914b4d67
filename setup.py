"""What pyproject.toml cannot say of the build: an optional extension, a second mapping.

The names ``protocol`` and ``client`` are common. A Spark job has its own folder on the
path of the driver and of every worker, and what lies there would be found instead. So
the packages that the pipeline needs are in the wheel twice: as they are, for the
broker, and inside of ``pyspark_odradek``, which imports nothing else
(docs/decisions/0004-one-source-two-names.md).
"""

import re
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build

PIPELINE = "pyspark_odradek"
INSIDE = "_odradek"
PACKAGES = ("protocol", "client", "storage/formats")
NAMES = "|".join(re.escape(package.replace("/", ".")) for package in PACKAGES)
SOURCES = shutil.ignore_patterns("*.c", "*.h", "__pycache__")
DOCSTRING = '"""What the pipeline needs of the rest of odradek."""\n'
IMPORT = re.compile(rf"^(\s*from )((?:{NAMES})[\w.]* import\b)", re.MULTILINE)


class Build(build):
    """Builds as usual, and maps the packages of the pipeline a second time."""

    def run(self) -> None:
        """Runs for a wheel; an editable install has the source, under one name."""
        super().run()
        root = Path(self.build_lib)
        inside = root / PIPELINE / INSIDE
        shutil.rmtree(inside, ignore_errors=True)  # of the build before
        for package in PACKAGES:
            shutil.copytree(root / package, inside / package, ignore=SOURCES)
        for package in (INSIDE, f"{INSIDE}/storage"):
            (root / PIPELINE / package / "__init__.py").write_text(DOCSTRING)
        for path in sorted((root / PIPELINE).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            renamed = IMPORT.sub(rf"\1{PIPELINE}.{INSIDE}.\2", text)
            path.write_text(renamed, encoding="utf-8")


setup(
    cmdclass={"build": Build},
    ext_modules=[
        Extension(
            "protocol.speedups",
            sources=[
                "protocol/speedups.c",
                "protocol/speedups_batches.c",
                "protocol/speedups_columns.c",
                "protocol/speedups_crc.c",
                "protocol/speedups_encoding.c",
                "protocol/speedups_keys.c",
                "protocol/speedups_latest.c",
                "protocol/speedups_produce.c",
                "protocol/speedups_records.c",
                "protocol/speedups_usual.c",
            ],
            depends=["protocol/speedups.h", "protocol/speedups_keys.h"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "broker.sync_thread",
            sources=["broker/sync_thread.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        ),
    ],
)
