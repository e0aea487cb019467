"""Timelines: a lane for each task of an event loop, running or waiting, and what it waits for."""
