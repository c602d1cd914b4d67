"""Small files of a table become large ones. Over tables."""
