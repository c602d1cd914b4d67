"""Faults on demand: rules that say which requests fare badly, when, and how.

``faults.arm`` takes a rule and answers with its id; ``faults.list`` has an item for
each rule, ``faults.clear`` takes rules away, ``faults.release`` lets go what a rule
holds, ``faults.fired`` waits until a rule has been at work. A rule says

- ``match``, which requests: ``api``, ``version``, ``topic``, ``partition``, ``group``,
  ``transactional_id``, ``client_id``, ``connection``. Names may be patterns (``t-*``);
- ``when``, which of those: ``skip`` the first, ``times`` at most, ``every`` so many,
  with a ``probability`` (and its ``seed``);
- one action, by its name, with what it needs: see `actions`.

While no rule is armed nothing of this is in the way of any request.
"""
