"""The commands `colonnade jobs ...`: queues of jobs, looked at and filled from the shell."""
