"""The only way to the disk: the seam to the system, and files of one purpose."""
