"""Options of who gets in: TLS, logins, access; and which may stand together."""
