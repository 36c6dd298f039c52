"""The bytes: rewriting what held forgotten rows, and looking for them in the server's own files."""
