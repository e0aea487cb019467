"""Notifications of NOTIFY, and the rules by which connections and listeners take them."""
