"""Trees that are proven to be the best of their size, or nearly so."""
