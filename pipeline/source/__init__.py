"""``format("odradek")``: options, plans, batch and stream readers."""
