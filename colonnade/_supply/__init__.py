"""The connections of a pool, as tasks share them and as threads do: two twins with one face."""
