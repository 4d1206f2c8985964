"""The tokens of a C++ file. They suffice to tell code from comments, strings,
directives and the brackets of templates."""

import re
from typing import NamedTuple

CLOSING = {"(": ")", "[": "]", "{": "}"}

_TOKEN = re.compile(r"""
    (?P<space>\s+)
  | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<raw>(?:u8|[uUL])?R"(?P<guard>[^()\\\s]{0,16})\(.*?\)(?P=guard)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:'[0-9A-Za-z]|[eEpP][+-]|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark>\.\.\.|<=>|<<=|>>=|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
            |[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL)
_DIRECTIVE = re.compile(r"#(?:\\\n|/\*.*?\*/|[^\n])*", re.DOTALL)


class Token(NamedTuple):
    """A token, with its offsets in the file and its line, counted from 1."""
    kind: str  # string, char, number, word or mark
    text: str
    start: int
    end: int
    line: int


def tokens_of(text):
    """Returns the list of a file's tokens, without comments and preprocessor lines."""
    tokens = []
    position, line = 0, 1
    fresh = True  # only space lies before `position` in its line
    while position < len(text):
        directive = fresh and _DIRECTIVE.match(text, position)
        found = directive or _TOKEN.match(text, position)
        kind = "directive" if directive else found.lastgroup
        kind = "string" if kind in ("raw", "guard") else kind
        value = found.group(0)
        if kind not in ("space", "comment", "directive"):
            tokens.append(Token(kind, value, position, found.end(), line))
        if kind == "space":
            fresh = fresh or "\n" in value
        else:
            fresh = False
        line += value.count("\n")
        position = found.end()
    return tokens


def pairs_of(tokens):
    """Returns a dict of the indices of matching brackets, in both directions. Also
    returns, for each token, the index of the innermost bracket around it, or -1.

    Raises:
      ValueError: the brackets do not match, perhaps because of preprocessor directives.
    """
    pairs, parents, open_brackets = {}, [], []
    for index, token in enumerate(tokens):
        is_mark = token.kind == "mark"
        if is_mark and token.text in CLOSING.values():
            if not open_brackets or (
                    CLOSING[tokens[open_brackets[-1]].text] != token.text):
                raise ValueError(f"line {token.line}: unmatched {token.text}")
            opening = open_brackets.pop()
            pairs[opening], pairs[index] = index, opening
        parents.append(open_brackets[-1] if open_brackets else -1)
        if is_mark and token.text in CLOSING:
            open_brackets.append(index)
    if open_brackets:
        unmatched = tokens[open_brackets[-1]]
        raise ValueError(f"line {unmatched.line}: unmatched {unmatched.text}")
    return pairs, parents


def angles_of(tokens, pairs):
    """Returns the indices of the brackets that open template arguments, with those that
    close them. By the formatter's rules, an operator has space around it, and a bracket
    has no space before it."""
    angles = {}
    for index in range(1, len(tokens)):
        before = tokens[index - 1]
        if (tokens[index].text == "<" and before.kind == "word" and
                before.text != "operator" and
                (before.end == tokens[index].start or before.text == "template")):
            closing = _closing_angle(tokens, pairs, index)
            if closing is not None:
                angles[index] = closing
    return angles


def _closing_angle(tokens, pairs, opening):
    depth, index = 0, opening
    while index < len(tokens):
        text = tokens[index].text
        if text in CLOSING:
            index = pairs[index]
        elif text in (";", ")", "]", "}"):
            return None
        elif text == "<":
            depth += 1
        elif text in (">", ">>"):
            depth -= len(text)
            if depth <= 0:
                return index
        index += 1
    return None


def spaced(tokens, index):
    """Returns whether a token has space on both sides, as a binary operator has."""
    return (0 < index < len(tokens) - 1 and
            tokens[index - 1].end < tokens[index].start and
            tokens[index].end < tokens[index + 1].start)
