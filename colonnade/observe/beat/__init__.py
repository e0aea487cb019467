"""The beat of an event loop: written by its process, judged by others."""
