"""Children that another thread than the test's own forks."""

import os
import signal
import threading


def fork_in_a_thread():
    """Forks in another thread. Returns the child, which has finished its start-up and
    runs until it is killed."""
    children = []
    begun, ours = os.pipe()

    def fork():
        child = os.fork()
        if child == 0:
            os.write(ours, b".")
            while True:
                signal.pause()
        children.append(child)

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    os.read(begun, 1)
    os.close(begun)
    os.close(ours)
    return children[0]


def end(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
