"""The one part of the build that pyproject.toml cannot say: an optional extension."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "protocol.speedups",
            sources=["protocol/speedups.c", "protocol/speedups_columns.c"],
            depends=["protocol/speedups.h"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
)
