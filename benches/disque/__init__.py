"""What counting the origins of jobs costs, and what a job costs the Disque client."""
