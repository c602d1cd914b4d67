"""The log directories of a broker of a cluster, as its controllers know them."""
