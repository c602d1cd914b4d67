"""What is wrong with an option, as the operator should read it."""


class OptionError(ValueError):
    """A value that its option cannot have, or an option that does not exist."""
