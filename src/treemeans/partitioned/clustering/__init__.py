"""The reference clustering of partitioned rows: scaling and k-means in few passes."""
