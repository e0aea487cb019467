"""The cost of counting the origins of jobs, and of a job in the Disque client."""
