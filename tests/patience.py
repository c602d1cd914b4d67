"""How long a test waits for what must come before it takes it for hanging.

It bounds a hang and says nothing about speed: a machine that does ten other things
beside makes no test fail by it. So it is one number for all, and a long one.
"""

PATIENCE_S = 600
