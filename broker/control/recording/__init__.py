"""Recordings: what clients ask and what they are answered, kept in a file, and asked
again. The file is that of `odradek.client.replay.recording`.
"""
