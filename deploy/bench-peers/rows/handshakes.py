"""Full TLS handshakes, each for a connection with one call."""

from __future__ import annotations

from functools import partial

import calls
import h2load
from figures import Comparison, Finding, Goal
from stand import LATCHKEY, NGHTTPD, Stand


def handshakes(stand: Stand) -> list[Finding]:
    shot = calls.check().write(stand.home)
    servers = {LATCHKEY: stand.server(LATCHKEY), **stand.peers(NGHTTPD)}
    series = stand.turns({
        name: partial(h2load.handshakes, server, shot, stand.options.seconds)
        for name, server in servers.items()})
    own = series.pop(LATCHKEY)
    return [Finding("Full TLS handshakes per CPU-second", own,
                    tuple(Comparison(each, Goal(0.9, 1)) for each in series.values()))]
