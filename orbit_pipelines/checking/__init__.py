"""What must hold, looked up in what was stored: one module a family of properties, each check a function."""
