"""What every part may use: clock, threads, parked answers, logs.

Needs no other room.
"""
