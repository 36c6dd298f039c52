"""The asset checks, one module per family of properties."""
