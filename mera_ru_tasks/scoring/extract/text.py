"""Constants that the steps of answer extraction share."""

from __future__ import annotations

import re

# A first line with more characters than this holds no answer. Patterns only run on pieces of this length.
LIMIT = 2000

# What begins a line of a list, in cleaned text.
BULLET = re.compile(r"^\s*(?:[-•–—·‣▪●○◦►▸→]|\d{1,2}[.)])\s+")
