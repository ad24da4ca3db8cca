"""What the simulated providers have in common: HTTP values, people, held tokens, pages, faults, OAuth 1.0a and 2."""
