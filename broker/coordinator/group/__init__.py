"""The group coordinator: who reads which partitions, and how far they have got."""
