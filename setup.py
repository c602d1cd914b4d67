"""What pyproject.toml cannot say of the build: the extensions in C, all optional."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "odradek.protocol.speedups",
            sources=[
                "odradek/protocol/speedups.c",
                "odradek/protocol/speedups_batches.c",
                "odradek/protocol/speedups_columns.c",
                "odradek/protocol/speedups_crc.c",
                "odradek/protocol/speedups_encoding.c",
                "odradek/protocol/speedups_keys.c",
                "odradek/protocol/speedups_latest.c",
                "odradek/protocol/speedups_produce.c",
                "odradek/protocol/speedups_records.c",
                "odradek/protocol/speedups_usual.c",
            ],
            depends=["odradek/protocol/speedups.h", "odradek/protocol/speedups_keys.h"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "odradek.broker.durability.sync_thread",
            sources=["odradek/broker/durability/sync_thread.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        ),
    ],
)
