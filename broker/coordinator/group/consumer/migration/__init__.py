"""Groups change their protocol while they have members, and have members of both."""
