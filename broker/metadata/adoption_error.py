"""Why a directory that Apache Kafka wrote cannot be taken over."""


class AdoptionError(Exception):
    """It is refused; the message is one line that says which file, and why."""
