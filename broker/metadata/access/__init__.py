"""Who may do what: access control lists, and what they decide."""
