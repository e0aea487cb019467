"""Words for callers, checks of arguments, and lazy imports: nothing here knows a connection."""
