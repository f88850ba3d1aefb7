"""Pack logs into a leaderboard submission (`pack`) and check any archive (`check`) by the same `rules`."""
