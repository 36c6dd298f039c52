"""What turns text into vectors: the protocol and one module per embedder."""
