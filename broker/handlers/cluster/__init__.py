"""Requests about the broker and its peers: versions, quorum, log directories."""
