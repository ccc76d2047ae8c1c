"""Rows from anywhere: labels, files, sources, raw tables, patterns."""
