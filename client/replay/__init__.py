"""Recorded conversations with a broker: asked again, and their answers compared."""
