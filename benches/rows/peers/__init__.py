"""The peers that give rows, and read them."""
