"""The orbit command: one module per family of commands, no logic of its own."""
