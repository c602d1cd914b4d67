"""What cannot be done about a mirror, in words for who asked."""


class MirrorError(Exception):
    """A mirror cannot do that; the text is for people."""
