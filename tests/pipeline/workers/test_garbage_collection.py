import subprocess
import sys

CODE = """
import gc
from odradek.pipeline.workers.garbage_collection import freeze_once

class Node: pass
loaded, garbage = Node(), Node()
loaded.me, garbage.me = loaded, garbage
del garbage
gc.disable()
freeze_once()
nodes = [each for each in gc.get_objects() if type(each) is Node]
frozen = gc.get_freeze_count()
later = Node()
later.me = later
freeze_once()
del later
print(len(nodes), frozen > 1000, gc.get_freeze_count() == frozen, gc.collect() > 0)
"""


def test_what_is_loaded_is_set_apart_once_and_the_rest_collected() -> None:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "True", "True", "True"], done.stderr
