"""Long-term memory that can prove what it holds, why, and what left it."""
