"""The Python processes that Spark starts: what they load, keep and say."""
