"""The commands of one machine.

Serve, health, doctor, adopt, fsck, dump-log, backup, restore.
"""
