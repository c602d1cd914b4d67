"""The Python of Spark's workers: the driver's, and it finds pyspark compiled.

Spark puts archives of pyspark's sources first on the path of each Python process that
it starts. Nothing that is compiled is kept in an archive, so that every process
compiles all that it imports: 0.6 s of processor time, and a query starts several. Where
pyspark is installed, the same modules lie compiled in its own folder.

Nor does Spark take the daemon that it is told of (`daemon`) for what plans a stream:
this Python runs Spark's modules by way of ours (`lone`), which know when to be silent.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

# What the name of a socket may have: 104 bytes on macOS, 108 on Linux.
_SOCKET_PATH_MAX = 100
_SOCKET_NAME_SIZE = len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
_SCRIPT = """\
#!/bin/sh
set -f
IFS=: kept=
for each in $PYTHONPATH; do
  case $each in
    {home}/*) ;;
    *) kept=$kept${{kept:+:}}$each ;;
  esac
done
case "$1 $2" in
  "-m pyspark.daemon") shift 2; set -- -m {daemon} "$@" ;;
  "-m pyspark."*) shift; set -- -m {lone} "$@" ;;
esac
PYTHONPATH=$kept exec {python} "$@"
"""
_DAEMON, _LONE = f"{__package__}.daemon", f"{__package__}.lone"


@cache
def _folder() -> Path:
    """For as long as this process lives."""
    folder = tempfile.mkdtemp(prefix="odradek-python-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def socket_options() -> dict[str, str]:
    """Options of a Spark on this machine: rows come from its workers by Unix sockets.

    That is a sixth less processor time than by TCP. Spark leaves their files behind.
    """
    if len(os.fsencode(_folder())) + _SOCKET_NAME_SIZE > _SOCKET_PATH_MAX:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(_folder()),
        "spark.python.daemon.module": _DAEMON,
    }


@cache
def worker_python() -> str:
    """What ``PYSPARK_PYTHON`` should be, for a Spark on this machine.

    A script, for as long as this process lives, that takes what belongs to the
    installed pyspark from the path and becomes the Python of this process; that Python
    itself where pyspark is not installed with Spark, or scripts cannot be run.
    """
    import pyspark

    home = Path(pyspark.__file__).parent
    spark_home = os.environ.get("SPARK_HOME")
    if not (home / "jars").is_dir() or (spark_home and Path(spark_home) != home):
        return sys.executable
    if os.statvfs(_folder()).f_flag & os.ST_NOEXEC:
        return sys.executable
    script = _folder() / "python"
    words = {"home": shlex.quote(str(home)), "python": shlex.quote(sys.executable)}
    script.write_text(_SCRIPT.format(**words, daemon=_DAEMON, lone=_LONE))
    script.chmod(0o700)
    return str(script)
