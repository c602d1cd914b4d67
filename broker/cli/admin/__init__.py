"""Commands that the broker of a data directory is asked on its admin socket."""
