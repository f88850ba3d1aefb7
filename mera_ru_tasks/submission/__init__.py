"""Make a leaderboard submission from logs (`pack`), and check any archive (`check`), by the same `rules`."""
