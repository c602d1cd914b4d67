"""Time that tests move: the clock, what it waits for, whose sessions go on."""
