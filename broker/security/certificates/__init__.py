"""Certificates: where they are kept, what they say, and who shows one."""
