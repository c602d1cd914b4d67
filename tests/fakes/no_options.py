"""In place of the options of groups, quotas and others: none, and no changes."""

from types import SimpleNamespace
from typing import Any

NO_OPTIONS: Any = SimpleNamespace(watch=lambda watcher: None)
