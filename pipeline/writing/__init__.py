"""Rows become records of topics by ``write.format("odradek")``."""
