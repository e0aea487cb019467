"""The peers that fetch rows and read every value."""
