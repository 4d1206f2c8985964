"""Memory over ten epochs, and what the daemon needs besides batches."""

import photos
from daemon import daemon, memory
from figures import row
from readers import call

EPOCHS, WARM, LIMIT = 10, 2, 150e6
MB = 1e6


def own_bytes(server):
    """The daemon's resident bytes without slots, which are shared memory."""
    found = memory(server.pid)
    return found["anon"] + found["file"]


def run():
    """Rows: the daemon's growth, the trainer's, the daemon's size."""
    uri = str(photos.make())
    with daemon() as server:
        call("read_forebay.py", server.environment, uri=uri, epochs=WARM)
        early = own_bytes(server)
        found = call("read_forebay.py", server.environment, uri=uri,
                     epochs=EPOCHS, memory=True)
        late = own_bytes(server)
    trainer = found["rss_anon"]
    unit = "MB"
    return [
        row("memory", f"daemon after {EPOCHS} more epochs / before",
            late / MB, early / MB, unit),
        row("memory", f"trainer after epoch {EPOCHS} / epoch {WARM}",
            trainer[-1] / MB, trainer[WARM - 1] / MB, unit),
        row("memory", "daemon without slots / promise", late / MB, LIMIT / MB,
            unit),
    ]
