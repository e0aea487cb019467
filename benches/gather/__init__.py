"""Measures `Pool.gather`: schedules, flights, deadlines."""
