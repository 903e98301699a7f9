"""Trees grown on partitioned rows: the search for cuts in passes, and what it works on."""
