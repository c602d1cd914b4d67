"""What is wrong with a metadata log: nothing of it may be used any more."""


class MetadataLogError(Exception):
    """A record cannot be read, or contradicts what came before; the message says so."""
