"""Sums by groups, against other libraries."""
