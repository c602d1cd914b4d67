"""A Kafka broker in Python, and a pipeline that turns topics into tables.

In a checkout the folders of this package are links to those beside it, which are where
the code is.
"""

from typing import Final

__all__ = ["__version__"]

# The one place that has it: the build reads it from here.
__version__: Final = "0.1.0"
