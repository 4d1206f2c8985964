"""Ways to damage a file, drawn from a seed."""

import random

EXTREMES = (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xfe", b"\xff")
WIDTHS = (1, 2, 4, 8)  # possible widths in bytes of numbers in files


def _range(file, chance, longest=64):
    """Draws a short range of a file, and returns its begin and end."""
    begin = chance.randrange(len(file))
    return begin, min(len(file), begin + chance.randrange(1, longest))


def flip(file, others, chance):
    mutant = bytearray(file)
    for _ in range(chance.choice((1, 1, 1, 2, 5, 20))):
        mutant[chance.randrange(len(mutant))] ^= 1 << chance.randrange(8)
    return bytes(mutant)


def flip_early(file, others, chance):
    """Flips a bit near the file's beginning, where headers are."""
    mutant = bytearray(file)
    mutant[chance.randrange(min(len(mutant), 128))] ^= 1 << chance.randrange(8)
    return bytes(mutant)


def overwrite(file, others, chance):
    begin, end = _range(file, chance)
    return file[:begin] + chance.randbytes(end - begin) + file[end:]


def overwrite_with_extreme(file, others, chance):
    begin = chance.randrange(len(file))
    value = chance.choice(EXTREMES) * chance.choice((*WIDTHS, 64))
    return file[:begin] + value[:len(file) - begin] + file[begin + len(value):]


def set_number(file, others, chance):
    """Replaces a number in the file by one that is near, small or large."""
    width = min(chance.choice(WIDTHS), len(file))
    begin = chance.randrange(min(len(file) - width + 1, 4096))
    order = chance.choice(("little", "big"))
    old = int.from_bytes(file[begin:begin + width], order)
    new = chance.choice((old + 1, old - 1, old * 2, old // 2, len(file),
                         len(file) - begin, chance.randrange(256)))
    number = (new % (1 << 8 * width)).to_bytes(width, order)
    return file[:begin] + number + file[begin + width:]


def cut(file, others, chance):
    lost = chance.choice((1, 2, 4, 8, 16, 512, chance.randrange(1, len(file))))
    return file[:max(1, len(file) - lost)]


def insert(file, others, chance):
    at = chance.randrange(len(file))
    return file[:at] + chance.randbytes(chance.choice((1, 2, 4, 30))) + file[at:]


def delete(file, others, chance):
    begin, end = _range(file, chance)
    return file[:begin] + file[end:]


def duplicate(file, others, chance):
    begin, end = _range(file, chance, 600)
    return file[:end] + file[begin:]


def splice(file, others, chance):
    other = chance.choice(others)
    at = chance.randrange(min(len(file), len(other)))
    return file[:at] + other[at:]


def append(file, others, chance):
    return file + chance.choice((bytes(1), bytes(512), b"\xff" * 7, file,
                                 chance.randbytes(100)))


KINDS = (flip, overwrite, cut, set_number, overwrite_with_extreme, insert,
         flip_early, delete, splice, duplicate, append)


def mutants(originals, count, seed):
    """Makes damaged files.

    Args:
      originals: dict of the intact files' bytes by name.
      count: number of damaged files.
      seed: the seed of all random choices.

    Yields:
      (a name that tells the original and the damage, the damaged bytes).
    """
    chance = random.Random(seed)
    names = sorted(originals)
    files = [originals[name] for name in names]
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        name = chance.choice(names)
        mutant = kind(originals[name], files, chance)
        yield f"{number:05} {name} {kind.__name__}", mutant
