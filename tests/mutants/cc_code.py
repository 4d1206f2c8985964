"""Finds the statements of a C++ file into which a fault may be planted."""

import re

import cc_tokens

# Calls whose arguments state invariants or are logged, so no fault is planted in them.
_EXEMPT_CALL = re.compile(r"\w*(CHECK|ASSERT)\w*|assert|static_assert|ABSL_\w+|"
                          r"HWY_\w+|alignas|decltype|noexcept|LOG|Log\w*")
_SCOPES = ("namespace", "class", "struct", "union", "enum", "extern")


class Code:
    """The tokens of a file. `open` tells for each whether a fault may be planted
    there."""

    def __init__(self, text):
        """Raises ValueError if the file's brackets do not match."""
        self.text = text
        self.tokens = cc_tokens.tokens_of(text)
        self.pairs, self.parents = cc_tokens.pairs_of(self.tokens)
        self.angles = cc_tokens.angles_of(self.tokens, self.pairs)
        self.open = [False] * len(self.tokens)
        # Indices of tokens that end a label, after which a statement begins.
        self.ends_label = set()
        for first, last in self._bodies():
            self.open[first:last] = [True] * (last - first)
        for first, last in list(self._exempt()):
            self.open[first:last] = [False] * (last - first)

    def is_word(self, index, *words):
        return self.tokens[index].text in words

    def end_of_statement(self, index):
        """Returns the index of the next `;` in the same brackets as the token `index`,
        or None."""
        while index < len(self.tokens):
            text = self.tokens[index].text
            if text == ";":
                return index
            if index in self.pairs:
                if self.pairs[index] < index:
                    return None
                index = self.pairs[index]
            index += 1
        return None

    def source(self, first, last):
        """Returns the text from one token to another, both included."""
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def _bodies(self):
        """Yields the ranges of indices within the braces of functions."""
        head = index = 0  # begin of the declaration that a brace belongs to
        while index < len(self.tokens):
            text = self.tokens[index].text
            if text in ("(", "["):
                index = self.pairs[index]
            elif index in self.angles:
                index = self.angles[index]
            elif text == "{":
                kind = self._kind_of_brace(head, index)
                if kind == "scope":
                    head = index + 1
                else:
                    if kind == "body":
                        yield index + 1, self.pairs[index]
                        head = self.pairs[index] + 1
                    index = self.pairs[index]
            elif text in (";", "}"):
                head = index + 1
            index += 1

    def _kind_of_brace(self, head, brace):
        """Returns whether a brace outside functions opens a "body", a "scope" such as a
        class, or a "value"."""
        marks = []  # tokens of the declaration, without those in brackets
        index = head
        while index < brace:
            marks.append(self.tokens[index].text)
            index = 1 + (self.pairs.get(index) or self.angles.get(index) or index)
        # In a constructor's list of initializers, members have braces, too.
        if not marks or marks[0] in (",", ":"):
            return "body"
        while marks[:1] and marks[0] in ("public", "protected", "private"):
            del marks[:2]
        while marks and marks[0] in ("template", "<", "inline", "static", "const",
                                     "typedef", "["):
            marks.pop(0)
        if marks and marks[0] in _SCOPES and self.tokens[brace - 1].text != ")":
            return "scope"
        assigns = any(mark == "=" and before != "operator"
                      for before, mark in zip([""] + marks, marks))
        return "body" if "(" in marks and not assigns else "value"

    def _exempt(self):
        """Yields the ranges of indices where no fault is planted."""
        for index, token in enumerate(self.tokens[:-1]):
            following = self.tokens[index + 1].text
            if index in self.angles:
                yield index, self.angles[index] + 1
            elif token.text == "[" and following == "[":
                yield index, self.pairs[index] + 1
            elif token.text == "case":
                colon = next(at for at in range(index, len(self.tokens))
                             if self.tokens[at].text == ":")
                self.ends_label.add(colon)
                yield index, colon + 1
            elif token.text == "default" and following == ":":
                self.ends_label.add(index + 1)
            elif self._begins_exempt_statement(index):
                end = self.end_of_statement(index)
                yield index, end or index + 1
            elif token.text == "constexpr" and following == "(":
                yield index, self.pairs[index + 1] + 1
            elif (token.kind == "word" and following == "(" and
                  _EXEMPT_CALL.fullmatch(token.text)):
                yield index, self.pairs[index + 1] + 1

    def _begins_exempt_statement(self, index):
        """Returns whether a constant table, a type or a log call begins at a token."""
        if not self.open[index]:
            return False
        text = self.tokens[index].text
        following = self.tokens[index + 1].text
        if text == "constexpr":
            return following != "("  # if constexpr (...)
        if text == "static":
            return following in ("const", "constexpr")
        if text == "fprintf":
            return self.is_word(index + 2, "stderr")
        return text in ("spdlog", "using", "enum", "typedef")
