"""Finds the tests that depend on a source, the nearest first."""

import collections
import re

UNIVERSE = "//tests/unit/... + //tests/conformance/..."
GRAPH = f"deps({UNIVERSE})"
TESTS = (f'let tests = kind("cc_test rule", {UNIVERSE}) in '
         r'$tests except attr(tags, "[\[ ](cuda|manual)[,\]]", $tests)')
_ARROW = re.compile(r'^\s*"([^"]+)" -> "([^"]+)"$', re.MULTILINE)


class NearestTests:
    """The tests of a tree, and the sources on which they depend."""

    def __init__(self, graph, tests):
        """The arguments are outputs of Bazel's query: an unfactored graph, and
        labels."""
        self._tests = set(tests.split())
        self._users = collections.defaultdict(list)
        for user, used in _ARROW.findall(graph):
            self._users[used].append(user)
        self._files = {label.replace("//", "", 1).replace(":", "/").lstrip("/"): label
                       for label in self._users}

    def of(self, path):
        """Returns the labels of the tests that depend on a source. First come those of
        the same folder below tests/unit. Within both parts, tests with fewer
        dependencies in between come first."""
        label = self._files.get(path)
        if label is None:
            return []
        distances = {label: 0}
        waiting = collections.deque([label])
        while waiting:
            used = waiting.popleft()
            for user in self._users[used]:
                if user not in distances:
                    distances[user] = distances[used] + 1
                    waiting.append(user)
        package = "//tests/unit/" + label[2:].partition(":")[0]
        return sorted(self._tests & set(distances),
                      key=lambda test: (test.partition(":")[0] != package,
                                        distances[test], test))
