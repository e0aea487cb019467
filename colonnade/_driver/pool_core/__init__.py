"""The connections of a pool, shared by tasks or by threads: two classes with one interface."""
