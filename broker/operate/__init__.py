"""For those who run a broker: readiness, admin socket, HTTP, audit, shortage."""
