"""All errors of the protocol in one place: codes, exceptions, look-up."""

# ruff: noqa: F403 - a facade; the exceptions are declared by family
from .cluster_errors import *
from .coordinator_errors import *
from .kafka_error import *
from .log_errors import *
from .security_errors import *
