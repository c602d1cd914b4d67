"""What requests and answers may hold of the memory, over all connections."""
