"""Tables become records of a topic, exactly once."""
