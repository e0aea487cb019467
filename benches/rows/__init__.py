"""How results become rows."""
