"""Forget what selected sessions left behind in memory, and prove it; and keep others out from the start."""
