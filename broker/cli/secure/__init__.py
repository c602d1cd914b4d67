"""``odradek secure``: a broker with TLS, logins and access control, in two commands."""
