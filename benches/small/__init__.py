"""How many small queries a second, and what each costs the client."""
