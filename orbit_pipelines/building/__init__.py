"""From history to published memory: scope, extraction, pairing, chunking, diff, publish."""
