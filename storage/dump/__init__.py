"""The files of a log directory, shown row by row: behind ``odradek dump-log``."""
