"""Stages that only the user's Python can run: in worker processes, by the daemon's
schedule, straight into the memory that trainers map."""
