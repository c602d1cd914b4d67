"""Tables whose rows are divided by columns and by times. Over tables."""
