"""Trees in words: rules, reasons, and what would have to change."""
