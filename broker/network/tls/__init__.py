"""TLS on a listener: from a socket that was accepted to a transport."""
