"""The small changes that may be made to a C source, found by a lexer and a few rules.

It reads what clang-format has laid out: an operator between blanks has two operands, and `*` or `&`
without one behind it has one. What it takes for a change and is none does not compile, or gives
the same object code, and is not counted.

Left alone: comments, texts, sentences of errors; sizes of allocations and of local arrays, and what
is freed (only a checker of memory sees that); steps of `for` loops (without them they never end).
"""

import hashlib
import re

KINDS = {
    "sign": "+ and -, * and /, << and >> change places; a minus or a step goes the other way",
    "constant": "a number is one more or one less, a real number twice as large",
    "comparison": "< becomes <=, == becomes !=, and so on",
    "logic": "&& and || change places, & and |, true and false; a ! is dropped",
    "order": "an atomic access becomes relaxed",
    "term": "one operand of +, -, *, /, && or || is dropped",
    "error": "a check is dropped, an error not passed on, a branch that returns never taken",
    "branch": "an `if` is never taken, or always",
    "statement": "a call, an assignment, a break or a continue is dropped",
    "extreme": "min and max change places",
}

TOKEN = re.compile(
    r"""(?P<blank>(?:\s|\\\n)+)
      | (?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[a-zA-Z]*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"[ \t]*#(?:[^\n\\]|\\.)*", re.DOTALL)
MACRO = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)\([^)]*\)")

PRECEDENCE = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7,
              ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
SIGN = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "+=": "-=",
        "-=": "+=", "*=": "/=", "/=": "*=", "++": "--", "--": "++"}
COMPARISON = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
REVERSED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
LOGIC = {"&&": "||", "||": "&&", "&": "|", "|": "&"}
EXTREME = {"fmin": "fmax", "fmax": "fmin", "min": "max", "max": "min", "MIN": "MAX", "MAX": "MIN",
           "MPI_MIN": "MPI_MAX", "MPI_MAX": "MPI_MIN"}
ORDER = re.compile(r"(__ATOMIC_|memory_order_)(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST|acquire|release"
                   r"|acq_rel|seq_cst)$")
PAIRS = {"(": ")", "[": "]", "{": "}"}

KEYWORDS = set("return goto case else sizeof do while if for switch default".split())
TEXT_CALLS = set("""printf fprintf snprintf vsnprintf sprintf fputs puts grove_error grove_error_mpi
    grove_error_set _Static_assert static_assert sizeof malloc calloc realloc grove_memory
    grove_room GROVE_NEW GROVE_ROOM GROVE_GROW
    GROVE_PASS_NEW GROVE_PASS_ROOM GROVE_PASS_GROW""".split())
CONDITIONS = {"GROVE_CHECK", "GROVE_PASS_CHECK"}
CHECKS = CONDITIONS | {"GROVE_TRY", "GROVE_TRY_MPI", "GROVE_PASS", "GROVE_PASS_MPI"}
NOT_DROPPED = TEXT_CALLS | CHECKS | {"abort", "exit"}


class Token:
    def __init__(self, text, kind, start, end):
        self.text, self.kind, self.start, self.end = text, kind, start, end


class Region:
    """The body of a function or a macro, an initialiser or an enum: where changes are made."""

    def __init__(self, kind, name, first, last):
        self.kind, self.name, self.first, self.last = kind, name, first, last


class Mutant:
    """One change: source[start:end] becomes `new`. Its id does not depend on line numbers."""

    def __init__(self, file, source, region, kind, start, end, new):
        lost = re.findall(r"\\?\n", source[start:end])[new.count("\n"):]
        self.file, self.function, self.kind = file, region, kind
        self.start, self.end, self.new = start, end, new + "".join(lost)
        self.line = source.count("\n", 0, start) + 1
        first, last = source.rfind("\n", 0, start) + 1, (source + "\n").find("\n", end)
        self.old_text = source[first:last]
        self.new_text = source[first:start] + self.new + source[end:last]
        self.column = start - first
        self.why = self.accepted = None  # of kept ones

    def name(self, nth):
        """`nth`: among changes that read the same in this function."""
        what = "\0".join([self.function, self.old_text.strip(), self.new_text.strip(), str(nth)])
        path = self.file[4:] if self.file.startswith("src/") else self.file
        self.id = f"{path}:{self.function}:{hashlib.sha1(what.encode()).hexdigest()[:6]}"

    def apply(self, source):
        return source[:self.start] + self.new + source[self.end:]

    def diff(self):
        """The changed lines, before and after."""
        old, new = ([line.rstrip(" \\") for line in text.split("\n")]
                    for text in (self.old_text, self.new_text))
        while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
            old.pop(), new.pop()
        new = " ".join(line.strip() for line in new if line.strip()) if len(new) > 1 else new[0]
        return [f"- {line.strip()}" for line in old] + [f"+ {new.strip()}"]


# ---- reading ----


def tokens_of(source):
    """Tokens without blanks and comments. Of directives only the bodies of macros with arguments
    remain, between '#define' with the name and '#end'."""
    found, at, line_begins, body_ends = [], 0, True, None
    while at < len(source):
        if body_ends is not None and at >= body_ends:
            found.append(Token("#end", "mark", at, at))
            body_ends = None
        directive = line_begins and DIRECTIVE.match(source, at)
        if directive:
            macro = MACRO.match(source, at)
            if macro and "\\\n" in directive.group():
                found.append(Token("#define " + macro.group(1), "mark", at, at))
                at, body_ends = macro.end(), directive.end()
            else:
                at = directive.end()
            line_begins = False
            continue
        match = TOKEN.match(source, at)
        kind = match.lastgroup
        if kind not in ("blank", "comment"):
            found.append(Token(match.group(), kind, at, match.end()))
        if kind != "comment":
            line_begins = kind == "blank" and "\n" in match.group()
        at = match.end()
    return found


def partners(tokens):
    """For each bracket the index of its partner."""
    found, stack = {}, []
    for i, t in enumerate(tokens):
        if t.kind == "op" and t.text in PAIRS:
            stack.append(i)
        elif t.kind == "op" and t.text in PAIRS.values():
            if stack and PAIRS[tokens[stack[-1]].text] == t.text:
                found[i] = stack.pop()
                found[found[i]] = i
    return found


def initialised(tokens, i):
    """The name of what is assigned at i, the index of '='."""
    i -= 1
    while i > 0 and tokens[i].kind != "word":
        i -= 1
    return tokens[i].text


def regions_of(tokens, partner):
    """Bodies of functions and macros, initialisers, and enums, from left to right."""
    found, i = [], 0
    while i < len(tokens):
        t = tokens[i]
        if t.kind == "mark" and t.text.startswith("#define"):
            last = next(k for k in range(i, len(tokens) + 1)
                        if k == len(tokens) or tokens[k].text == "#end")
            found.append(Region("function", t.text.split()[1], i + 1, last))
            i = last
        elif t.text == "{" and i in partner and i > 0 and t.kind == "op":
            before = tokens[i - 1]
            if before.text == ")" and i - 1 in partner:
                name = tokens[partner[i - 1] - 1].text
                found.append(Region("function", name, i, partner[i] + 1))
                i = partner[i]
            elif before.text == "enum" or tokens[i - 2].text == "enum":
                found.append(Region("values", before.text, i, partner[i] + 1))
                i = partner[i]
            elif before.kind != "text":  # extern "C" has functions inside
                i = partner[i]
        elif t.text == "=" and t.kind == "op":
            last = i
            while last < len(tokens) and tokens[last].text != ";":
                last = partner.get(last, last) + 1
            found.append(Region("values", initialised(tokens, i), i, last))
            i = last
        i += 1
    return found


# ---- the rules ----


class Reader:
    """The changes of one file. Rules are methods that yield (kind, start, end, new)."""

    def __init__(self, file, source):
        self.file, self.source = file, source
        self.tokens = tokens_of(source)
        self.partner = partners(self.tokens)
        self.regions = regions_of(self.tokens, self.partner)

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def between(self, first, last):
        """The words of the tokens first to last - 1, for comparison."""
        return [t.text for t in self.tokens[first:last]]

    def ends(self, i):
        """Whether an operand ends with token i."""
        t = self.tokens[i]
        return t.kind in ("number", "text") or t.text in (")", "]") or (
            t.kind == "word" and t.text not in KEYWORDS)

    def is_binary(self, i):
        t = self.tokens[i]
        if t.kind != "op" or t.text not in PRECEDENCE or i == 0 or not self.ends(i - 1):
            return False
        after = self.source[t.end:t.end + 1]
        return self.source[t.start - 1].isspace() and (after.isspace() or after == "\\")

    def operand_right(self, i):
        """The end (a token) of the right operand of the operator i."""
        k = i + 1
        while k < len(self.tokens):
            t = self.text(k)
            if t in PAIRS and k in self.partner:
                k = self.partner[k] + 1
                continue
            if t in (")", "]", "}", ",", ";", "?", ":", "#end"):
                break
            if self.is_binary(k) and PRECEDENCE[t] <= PRECEDENCE[self.text(i)]:
                break
            k += 1
        return k

    def operand_left(self, i):
        """Where the left operand of i begins; None if it has an operator of equal precedence."""
        k = i - 1
        while k >= 0:
            t = self.text(k)
            if t in PAIRS.values() and k in self.partner:
                k = self.partner[k] - 1
                continue
            if t in PAIRS or t in (",", ";", "?", ":", "return") or t.startswith("#"):
                break
            if t.endswith("=") and t not in COMPARISON:
                break
            if self.is_binary(k):
                if PRECEDENCE[t] == PRECEDENCE[self.text(i)]:
                    return None
                if PRECEDENCE[t] < PRECEDENCE[self.text(i)]:
                    break
            k -= 1
        return k + 1

    def silent(self, region):
        """Indices of tokens that are not changed."""
        out = set()
        for i in range(region.first, region.last):
            t = self.text(i)
            if t == "[" and i in self.partner and self.is_declared(i - 1):
                out.update(range(i, self.partner[i]))
            if self.text(i + 1) != "(" or i + 1 not in self.partner:
                continue
            close = self.partner[i + 1]
            if t == "free":
                out.update(self.line_of(i))
            elif t in TEXT_CALLS:
                out.update(range(i, close + 1))
            elif t in CONDITIONS:
                k = i + 2
                while k < close and self.text(k) != ",":
                    k = self.partner.get(k, k) + 1
                out.update(range(k, close + 1))
            elif t == "for":
                semicolons = [k for k in range(i + 2, close) if self.text(k) == ";"]
                if semicolons:
                    out.update(range(semicolons[-1], close + 1))
        return out

    def mutants(self):
        seen, names, found = set(), {}, []
        for region in self.regions:
            silent = self.silent(region)
            for i in range(region.first, region.last):
                if i in silent or self.tokens[i].kind in ("text", "mark"):
                    continue
                for kind, start, end, new in self.changes(region, i):
                    if (start, end, new) in seen:
                        continue
                    seen.add((start, end, new))
                    m = Mutant(self.file, self.source, region.name, kind, start, end, new)
                    same = (m.function, m.old_text.strip(), m.new_text.strip())
                    names[same] = names.get(same, 0) + 1
                    m.name(names[same])
                    found.append(m)
        return found

    def changes(self, region, i):
        yield from self.constants(i)
        yield from self.words(i)
        if region.kind == "function":
            for rule in (self.operators, self.terms, self.conditions, self.checks, self.statements):
                yield from rule(i)

    def constants(self, i):
        t = self.tokens[i]
        if t.kind != "number":
            return
        if self.text(i - 1) == "{" and self.text(i + 1) == "}" and t.text == "0":
            return
        digits = re.match(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$", t.text)
        if not digits:
            new = "1.0" if float(re.match(r"[\d.]+", t.text).group()) == 0 else f"(2 * {t.text})"
            yield "constant", t.start, t.end, new
            return
        value, suffix = int(digits.group(1), 0 if "x" in t.text.lower() else 10), digits.group(2)
        yield "constant", t.start, t.end, f"{value + 1}{suffix}"
        if value > 0:
            yield "constant", t.start, t.end, f"{value - 1}{suffix}"

    def is_declared(self, i):
        """Whether i is the name of an array in its declaration."""
        before = i - 1
        while self.text(before) == "*" and not self.is_binary(before):
            before -= 1
        return (self.tokens[i].kind == "word" and self.tokens[before].kind == "word"
                and self.text(before) not in KEYWORDS)

    def line_of(self, i):
        """The tokens on the line of token i up to it: what decides whether it is done."""
        first = self.source.rfind("\n", 0, self.tokens[i].start)
        k = i
        while k > 0 and self.tokens[k - 1].start > first:
            k -= 1
        return range(k, i + 1)

    def words(self, i):
        t = self.tokens[i]
        if t.kind != "word":
            return
        if t.text in EXTREME:
            yield "extreme", t.start, t.end, EXTREME[t.text]
        if t.text in ("true", "false"):
            yield "logic", t.start, t.end, "false" if t.text == "true" else "true"
        order = ORDER.match(t.text)
        if order:
            relaxed = "RELAXED" if order.group(2).isupper() else "relaxed"
            yield "order", t.start, t.end, order.group(1) + relaxed

    def operators(self, i):
        t = self.tokens[i]
        if t.kind != "op":
            return
        if self.is_binary(i):
            if t.text in SIGN:
                yield "sign", t.start, t.end, SIGN[t.text]
            if t.text in COMPARISON:
                kind, new = self.compared(i)
                yield kind, t.start, t.end, new
            if t.text in LOGIC:
                yield "logic", t.start, t.end, LOGIC[t.text]
        elif t.text in ("+=", "-=", "*=", "/=", "++", "--"):
            yield "sign", t.start, t.end, SIGN[t.text]
        elif t.text == "-" and not self.ends(i - 1):
            yield "sign", t.start, t.end, ""
        elif t.text == "!":
            yield "logic", t.start, t.end, ""

    def compared(self, i):
        """`a < b ? a : b` and `if (a < b) b = a` are extremes: <= would change nothing there."""
        text, left, right = self.text(i), self.operand_left(i), self.operand_right(i)
        if text in REVERSED and left is not None:
            a, b = self.between(left, i), self.between(i + 1, right)
            after = self.between(right, right + len(a) + len(b) + 4)
            for x, y in ((a, b), (b, a)):
                if (after[:len(x) + len(y) + 2] == ["?"] + x + [":"] + y
                        or after == [")"] + x + ["="] + y + [";"] + after[len(x) + len(y) + 3:]):
                    return "extreme", REVERSED[text]
        return "comparison", COMPARISON[text]

    def terms(self, i):
        if not self.is_binary(i) or self.text(i) not in ("+", "-", "*", "/", "&&", "||"):
            return
        t, right, left = self.tokens[i], self.operand_right(i), self.operand_left(i)
        yield "term", self.tokens[i - 1].end, self.tokens[right - 1].end, ""
        if left is not None and t.text not in ("-", "/"):
            yield "term", self.tokens[left].start, self.tokens[i + 1].start, ""

    def conditions(self, i):
        if self.text(i) != "if" or i + 1 not in self.partner:
            return
        close = self.partner[i + 1]
        start, end = self.tokens[i + 1].start, self.tokens[close].end
        condition = self.source[start:end]
        body = close + 1
        last = self.partner[body] if self.text(body) == "{" and body in self.partner else body
        leaves = any(self.text(k) in ("return", "goto") for k in range(body, last + 1))
        yield "error" if leaves else "branch", start, end, f"({condition} && 0)"
        if not leaves:
            yield "branch", start, end, f"({condition} || 1)"

    def checks(self, i):
        """A dropped GROVE_CHECK still evaluates its condition, which may have effects."""
        if self.text(i) not in CHECKS or i + 1 not in self.partner:
            return
        close = end = self.partner[i + 1]
        if self.text(i) in CONDITIONS:
            end = i + 2
            while end < close and self.text(end) != ",":
                end = self.partner.get(end, end) + 1
        inside = self.source[self.tokens[i + 1].end:self.tokens[end].start]
        yield "error", self.tokens[i].start, self.tokens[close].end, f"(void)({inside})"

    def statements(self, i):
        if not self.begins_statement(i):
            return
        t = self.tokens[i]
        if t.text in NOT_DROPPED or t.text in KEYWORDS or (
                t.text.endswith(("free", "destroy", "close"))):
            return
        end = i
        while end < len(self.tokens) and self.text(end) not in (";", "{", "}", ":", "#end"):
            end = self.partner.get(end, end) + 1
        if self.text(end) != ";" or self.is_declaration(i, end):
            return
        yield "statement", t.start, self.tokens[end].end, ";"

    def begins_statement(self, i):
        t, before = self.tokens[i], self.text(i - 1)
        if t.kind != "word" and t.text not in ("*", "(", "++", "--"):
            return False
        if before in (";", "{", "}", "else", "do"):
            return not self.in_brackets(i)
        if before != ")" or i - 1 not in self.partner:
            return False
        return self.text(self.partner[i - 1] - 1) in ("if", "for", "while")

    def in_brackets(self, i):
        """Whether i is in the head of a `for`, or in an initialiser."""
        k = i - 1
        while k >= 0:
            if self.text(k) in (")", "]", "}") and k in self.partner:
                k = self.partner[k] - 1
                continue
            if self.text(k) in ("(", "["):
                return True
            if self.text(k) == "{":
                return self.text(k - 1) in ("=", ",", "{", "(") or (
                    self.text(k - 1) == ")" and self.text(k + 1) == ".")
            if self.text(k).startswith("#define"):
                return False
            k -= 1
        return False

    def is_declaration(self, i, end):
        first, second = self.tokens[i], self.tokens[i + 1]
        if first.kind != "word" or first.text in ("break", "continue"):
            return False
        if second.kind == "word":
            return True
        return second.text == "*" and not self.is_binary(i + 1) and i + 2 < end


def mutants_of(file, source):
    return Reader(file, source).mutants()


# ---- the list that is kept ----


class Stale(Exception):
    pass


def kept(text, where, read):
    """The entries of tests/mutants.txt as mutants; read(file) gives a source. An entry is

        src/model/price.c, add_shared
        - flag / 2 + bytes
        + flag / 2 - bytes
        why: one line or more          or          survives: the reason

    The text after '-' occurs once in that function."""
    found, block = [], []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.strip() and not line.startswith("#"):
            block.append((number, line))
        elif block:
            found.append(kept_entry(block, where, read))
            block = []
    return found


def kept_entry(block, where, read):
    number = block[0][0]

    def wrong(sentence):
        raise Stale(f"{where}:{number}: {sentence}")

    fields, key = {}, None
    for _, line in block[1:]:
        match = re.match(r"([-+]|why:|survives:) ?(.*)$", line)
        if match:
            key = match.group(1)
            fields[key] = match.group(2).strip()
        elif key:
            fields[key] += " " + line.strip()
    file, _, function = block[0][1].partition(", ")
    if not function or "-" not in fields or "+" not in fields:
        wrong("an entry is 'file, function', a line '- text', a line '+ text', and a reason")
    if "why:" not in fields and "survives:" not in fields:
        wrong("says neither 'why:' nor 'survives:'")
    try:
        source = read(file)
    except OSError:
        wrong(f"there is no {file}")
    reader = Reader(file, source)
    spans = [(reader.tokens[r.first].start, reader.tokens[r.last - 1].end)
             for r in reader.regions if r.name == function and r.last > r.first]
    if not spans:
        wrong(f"there is no {function} in {file}")
    starts = [m.start() for m in re.finditer(re.escape(fields["-"]), source)
              if any(a <= m.start() < b for a, b in spans)]
    if len(starts) != 1:
        wrong(f"'{fields['-']}' is {len(starts)} times in {function}, and must be there once")
    m = Mutant(file, source, function, "kept", starts[0], starts[0] + len(fields["-"]), fields["+"])
    m.name(1)
    m.why, m.accepted = fields.get("why:"), fields.get("survives:")
    return m
