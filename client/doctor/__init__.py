"""What may be wrong with TLS, a login or rights, and the line that would mend it."""
