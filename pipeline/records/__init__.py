"""Records and batches as columns of Arrow, damage included. Needs no Spark."""
