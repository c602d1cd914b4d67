"""The messages of the protocol, one module per family of APIs."""
