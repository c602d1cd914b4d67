"""What pyproject.toml cannot say of the build: the extensions in C, all optional.

One wheel serves every Python from 3.11 on, because the extensions keep to the stable
ABI: its tag is ``cp311-abi3`` and the platform. Where nothing could be compiled the
wheel is plain Python, and its tag says so.
"""

import os
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

# No CPython before 3.15 has a stable ABI without the GIL: there it is plain Python.
HAS_STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")
LIMITED_API = ("Py_LIMITED_API", "0x030B0000")


class TruthfulWheel(bdist_wheel):
    """A wheel whose tag follows from what was compiled, not from what was wanted."""

    def run(self) -> None:
        """Compile first. Without any extension the wheel is for every platform."""
        build = self.get_finalized_command("build_ext")
        if self.distribution.has_ext_modules() and not self.skip_build:
            self.run_command("build_ext")
            if not any(map(os.path.exists, build.get_outputs())):
                self.distribution.ext_modules = []
                self.root_is_pure = True
        super().run()


def extension(name: str, *sources: str, depends: tuple[str, ...] = ()) -> Extension:
    """An extension that a machine without a compiler does without."""
    return Extension(
        name,
        sources=list(sources),
        depends=list(depends),
        define_macros=[LIMITED_API],
        py_limited_api=True,
        optional=True,
    )


extensions = [
    extension(
        "odradek.protocol.speedups",
        "odradek/protocol/speedups.c",
        "odradek/protocol/speedups_batches.c",
        "odradek/protocol/speedups_columns.c",
        "odradek/protocol/speedups_commits.c",
        "odradek/protocol/speedups_crc.c",
        "odradek/protocol/speedups_encoding.c",
        "odradek/protocol/speedups_json.c",
        "odradek/protocol/speedups_json_text.c",
        "odradek/protocol/speedups_keys.c",
        "odradek/protocol/speedups_latest.c",
        "odradek/protocol/speedups_produce.c",
        "odradek/protocol/speedups_records.c",
        "odradek/protocol/speedups_usual.c",
        depends=(
            "odradek/protocol/speedups.h",
            "odradek/protocol/speedups_json.h",
            "odradek/protocol/speedups_keys.h",
        ),
    ),
]
if sys.platform == "linux":  # it has an eventfd
    extensions.append(
        extension(
            "odradek.broker.durability.sync_thread",
            "odradek/broker/durability/sync_thread.c",
        )
    )

setup(
    ext_modules=extensions if HAS_STABLE_ABI else [],
    cmdclass={"bdist_wheel": TruthfulWheel},
    options={"bdist_wheel": {"py_limited_api": "cp311"} if HAS_STABLE_ABI else {}},
)
