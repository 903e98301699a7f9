"""k-means over rows in parts, and whatever else a reference can be."""
