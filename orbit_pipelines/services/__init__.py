"""What `orbit up` runs: processes side by side that start and end together."""
