"""The public classes, written once with `await`; `_sync` is generated from this folder."""
