"""An environment that changes: which keys each transaction writes, and what. Run as
a program, a writer: `lmdb_history.py PYPI PATH OPTIONS`, with OPTIONS as a dict of
lmdb.open. For each line, a number, it commits so many transactions, and answers with
the number of the last one."""

import ast
import random
import sys

KEYS = [b"%05d" % number for number in range(400)]


def keys_of(transaction):
    """The keys that a transaction writes; the first one writes all."""
    if transaction == 1:
        return KEYS
    return random.Random(transaction).sample(KEYS, 60)


def value_of(key, transaction):
    """Returns a value that names both; its length depends on both."""
    start = b"%s %d " % (key, transaction)
    length = random.Random(start).choice([0, 30, 300, 1500, 5000, 20000])
    return start + (start * (length // len(start) + 1))[:length]


def latest(last):
    """The values after that transaction, in the order of keys."""
    state = {}
    for transaction in range(1, last + 1):
        for key in keys_of(transaction):
            state[key] = transaction
    return [value_of(key, state[key]) for key in KEYS]


def snapshot_of(values, last):
    """The transaction, of up to `last`, that left these values, by sample. None if
    none did."""
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
