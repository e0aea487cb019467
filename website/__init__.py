"""The documentation site: `make site`."""
