"""Where records come from: the registry, availability, and one truth about who gets which source."""
