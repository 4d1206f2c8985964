"""Serves tf.data, by a dispatcher and a worker, until it is killed.

Prints the address that trainers connect to.
"""

import os
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402


def main():
    of = tf.data.experimental.service
    dispatcher = of.DispatchServer(of.DispatcherConfig(port=0))
    _, address = dispatcher.target.split("://")
    worker = of.WorkerServer(of.WorkerConfig(dispatcher_address=address))
    print(dispatcher.target, flush=True)
    threading.Event().wait()
    del worker


if __name__ == "__main__":
    main()
