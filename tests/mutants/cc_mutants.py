"""The small faults that can be planted into a C++ file."""

import re
from typing import NamedTuple

import cc_code
import cc_tokens

_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_LOGIC = {"&&": "||", "||": "&&"}
_ARITHMETIC = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
_BOOLS = {"true": "false", "false": "true"}
_ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_INTEGER = re.compile(r"(?P<digits>0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)"
                      r"(?P<suffix>[uUlLzZ]*)")
# Words that begin a statement which is neither a call nor an assignment.
_NO_EXPRESSION = {
    "return", "delete", "throw", "if", "for", "while", "switch", "else", "do", "case",
    "using", "typedef", "goto", "static_assert", "break", "continue", "sizeof", "try",
    "catch", "new", "operator", "co_return", "co_await", "co_yield", "default"}
# These mostly declare a variable, state an invariant, or log.
_KEPT_CALL = re.compile(r"\w*(CHECK|ASSERT)\w*|assert|spdlog|fprintf|LOG|Log\w*|"
                        r"FOREBAY_ASSIGN_OR_RETURN|static_assert|ABSL_\w+|HWY_\w+")


class Mutant(NamedTuple):
    """A fault: `new` replaces `old` at the offset `start` of a file."""
    file: str
    line: int
    kind: str
    start: int
    old: str
    new: str

    def planted(self, text):
        """Returns a file's text with the fault.

        Raises:
          ValueError: the file does not have `old` at that offset.
        """
        end = self.start + len(self.old)
        if text[self.start:end] != self.old:
            raise ValueError(f"{self.file}:{self.line} does not hold {self.old!r}, "
                             f"which the mutant replaces")
        return text[:self.start] + self.new + text[end:]

    def __str__(self):
        return (f"{self.file}:{self.line} {self.kind}: "
                f"{_short(self.old)} -> {_short(self.new)}")


def _short(text):
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def mutants_of(file, text):
    """Returns all mutants of a file, in the order of its text. Returns an empty list if
    the file cannot be parsed."""
    try:
        code = cc_code.Code(text)
    except ValueError:
        return []
    found = []
    for index, token in enumerate(code.tokens):
        if not code.open[index]:
            continue
        for kind, planter in _PLANTERS:
            for first, last, new in planter(code, index):
                old = code.source(first, last)
                # Code that contains a preprocessor directive is left alone.
                if not re.search(r"^\s*#", old, re.MULTILINE):
                    begin = code.tokens[first]
                    found.append(
                        Mutant(file, begin.line, kind, begin.start, old, new))
    return found


def _comparison(code, index):
    new = _COMPARISONS.get(code.tokens[index].text)
    if new and cc_tokens.spaced(code.tokens, index):
        yield index, index, new


def _logic(code, index):
    new = _LOGIC.get(code.tokens[index].text)
    if new and cc_tokens.spaced(code.tokens, index):
        yield index, index, new


def _arithmetic(code, index):
    new = _ARITHMETIC.get(code.tokens[index].text)
    if not new or not cc_tokens.spaced(code.tokens, index):
        return
    before, after = code.tokens[index - 1], code.tokens[index + 1]
    if "string" in (before.kind, after.kind) or before.text == "return":
        return
    if before.kind in ("word", "number") or before.text in (")", "]"):
        yield index, index, new


def _integer(code, index):
    token = code.tokens[index]
    found = token.kind == "number" and _INTEGER.fullmatch(token.text)
    if not found or _is_extent(code, index):
        return
    digits = found.group("digits").replace("'", "")
    base, shape = 10, "{}"
    if digits[:2] in ("0x", "0X"):
        base, shape = 16, "0x{:x}"
    elif digits[:2] in ("0b", "0B"):
        base, shape = 2, "0b{:b}"
    elif len(digits) > 1 and digits[0] == "0":
        base, shape = 8, "0{:o}"
    try:
        value = int(digits, base)
    except ValueError:
        return
    for other in [value + 1] + [value - 1] * (value > 0):
        yield index, index, shape.format(other) + found.group("suffix")


def _is_extent(code, index):
    """Returns whether a number is the size in the declaration of an array: TYPE
    NAME[NUMBER]."""
    tokens = code.tokens
    return (tokens[index - 1].text == "[" and tokens[index - 2].kind == "word" and
            (tokens[index - 3].kind == "word" or
             tokens[index - 3].text in (">", "*", "]")) and
            tokens[index - 3].text != "return")


def _condition(code, index):
    if not code.is_word(index, "if", "while") or not code.is_word(index + 1, "("):
        return
    first, last = index + 2, code.pairs[index + 1] - 1
    inside = [at for at in range(first, last + 1) if code.parents[at] == index + 1]
    for at in inside:
        if code.is_word(at, ";"):
            first = at + 1
    if first > last or any(at >= first and code.is_word(at, "=") for at in inside):
        return
    yield first, last, f"!({code.source(first, last)})"


def _statement(code, index):
    if _begins_statement(code, index) and _is_expression(code, index):
        end = code.end_of_statement(index)
        if end is not None:
            yield index, end, ";"


def _begins_statement(code, index):
    parent = code.parents[index]
    if parent < 0 or not code.is_word(parent, "{"):
        return False
    before = index - 1
    if code.is_word(before, ";", "{", "}", "else", "do"):
        return True
    if code.is_word(before, ")"):
        opening = code.pairs[before]
        return code.is_word(opening - 1, "if", "for", "while", "constexpr")
    return before in code.ends_label


def _is_expression(code, index):
    """Returns whether a statement is a call, an assignment or an increment or
    decrement."""
    tokens = code.tokens
    steps = False
    while code.is_word(index, "*", "++", "--"):
        steps = steps or tokens[index].text != "*"
        index += 1
    while True:
        name = tokens[index]
        if (name.kind != "word" or name.text in _NO_EXPRESSION or
                _KEPT_CALL.fullmatch(name.text)):
            return False
        index += 1
        if index in code.angles:
            index = code.angles[index] + 1
        calls = False
        while code.is_word(index, "(", "["):
            calls = code.is_word(index, "(")
            index = code.pairs[index] + 1
        if not code.is_word(index, ".", "->", "::"):
            break
        index += 1
    if code.is_word(index, "++", "--"):
        steps = True
        index += 1
    if code.is_word(index, ";"):
        return calls or steps
    return code.is_word(index, *_ASSIGNMENTS)


def _return(code, index):
    if not code.is_word(index, "return"):
        return
    end = code.end_of_statement(index)
    if end is None or end == index + 1:
        return
    first, last = index + 1, end - 1
    if first == last:
        new = _BOOLS.get(code.tokens[first].text)
        if new:
            yield first, last, new
        return
    top = [at for at in range(first, end)
           if code.parents[at] == code.parents[index] and at not in code.pairs]
    texts = {code.tokens[at].text for at in top}
    if texts & {"?", "<=>", "<<", ">>", "[", "{"}:
        return
    compares = any((code.tokens[at].text in _COMPARISONS or
                    code.tokens[at].text in _LOGIC) and
                   cc_tokens.spaced(code.tokens, at) for at in top)
    if compares or code.is_word(first, "!"):
        yield first, last, f"!({code.source(first, last)})"


_PLANTERS = (("comparison", _comparison), ("condition", _condition),
             ("statement", _statement), ("integer", _integer), ("logic", _logic),
             ("arithmetic", _arithmetic), ("return", _return))
