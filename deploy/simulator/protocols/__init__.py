"""Common parts of the simulated providers: HTTP values, users, stored tokens, pages, faults, OAuth 1.0a and 2."""
