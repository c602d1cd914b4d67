"""What share groups (KIP-932) have done with partitions, kept in a log of its own."""
