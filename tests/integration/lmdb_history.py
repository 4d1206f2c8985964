"""An environment that changes: the keys that each transaction writes, and their values.
Run as a program, this is a writer: `lmdb_history.py PYPI PATH OPTIONS`, where OPTIONS
is a dict of arguments of lmdb.open. Each line of standard input is a number of
transactions, which it commits. It answers with the number of the last transaction."""

import ast
import random
import sys

KEYS = [b"%05d" % number for number in range(400)]


def keys_of(transaction):
    """Returns the keys that a transaction writes. The first transaction writes all
    keys."""
    if transaction == 1:
        return KEYS
    return random.Random(transaction).sample(KEYS, 60)


def value_of(key, transaction):
    """Returns a value that names the key and the transaction. Its length depends on
    both."""
    start = b"%s %d " % (key, transaction)
    length = random.Random(start).choice([0, 30, 300, 1500, 5000, 20000])
    return start + (start * (length // len(start) + 1))[:length]


def latest(last):
    """Returns the values after transaction `last`, in the order of keys."""
    state = {}
    for transaction in range(1, last + 1):
        for key in keys_of(transaction):
            state[key] = transaction
    return [value_of(key, state[key]) for key in KEYS]


def snapshot_of(values, last):
    """Returns the transaction up to `last` after which the environment had these
    values, which are given by sample. Returns None if there is no such transaction."""
    state = {}
    for transaction in range(1, last + 1):
        for key in keys_of(transaction):
            state[key] = transaction
        if all(values[i] == value_of(KEYS[i], state[KEYS[i]]) for i in values):
            return transaction
    return None


def main():
    sys.path.append(sys.argv[1])
    import lmdb
    last = 0
    with lmdb.open(sys.argv[2], map_size=1 << 26,
                   **ast.literal_eval(sys.argv[3])) as env:
        for line in sys.stdin:
            for _ in range(int(line)):
                last += 1
                with env.begin(write=True) as transaction:
                    for key in keys_of(last):
                        transaction.put(key, value_of(key, last))
            print(last, flush=True)


if __name__ == "__main__":
    main()
