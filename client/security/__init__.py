"""How a client proves who it is, and asks the same of brokers: TLS and SASL."""
