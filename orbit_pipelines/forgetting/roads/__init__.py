"""Independent roads to what a forget should have taken: none asks a kind which rows are its own, or trusts a purge."""
