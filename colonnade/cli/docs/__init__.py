"""The command `colonnade docs`."""
