"""Finding what memory holds for a question, within one person's store."""
