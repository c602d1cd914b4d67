"""The transaction coordinator: who may write, and how a transaction ends."""
