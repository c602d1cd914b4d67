"""For those who run a broker: readiness, metrics, admin socket, HTTP."""
