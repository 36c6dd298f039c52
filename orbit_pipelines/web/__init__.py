"""The pages people see: the chat with its notice and eye, Memory Status, and what administrators decide."""
