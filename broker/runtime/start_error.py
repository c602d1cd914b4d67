"""Why a broker cannot start, as the operator should read it."""


class StartError(Exception):
    """The broker cannot start; the message is one line that says what to do."""
