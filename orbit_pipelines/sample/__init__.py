"""The sample history: invented people, their exports and records, and how an installation is filled with them."""
