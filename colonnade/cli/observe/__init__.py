"""The commands `colonnade observe ...`: what a running process says about its event loop."""
