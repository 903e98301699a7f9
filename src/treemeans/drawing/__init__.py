"""A tree as boxes, lines and words with places: what plots and notebook pictures are made from."""
