"""Consistent copies of a broker's data: cut, copied, described, checked, restored."""
