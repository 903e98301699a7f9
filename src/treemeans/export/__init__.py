"""Trees that leave Python. An exporter only reads a ThresholdTree."""
