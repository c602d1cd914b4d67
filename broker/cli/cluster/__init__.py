"""``odradek cluster``, one module for each of its actions."""
