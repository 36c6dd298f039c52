"""What pages and replies say of memory: the states, and the one catalogue of words for them. No HTTP in it."""
