"""Keys in texts: what is taken for one, so that it can be replaced before the text is kept or shown."""

SHORTEST = 6
"""A shorter key is a placeholder (`none`, `EMPTY`) or a word, and replacing it everywhere would change other text."""
