"""Who a client is, and what that lets it do."""
