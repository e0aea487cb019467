"""Exports of a large table over HTTP, and what they cost the other requests of the same loop."""
