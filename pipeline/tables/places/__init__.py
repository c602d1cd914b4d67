"""Where tables lie: in folders, and in stores of objects. Over objects."""
