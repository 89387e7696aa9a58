"""operators.py - the operators of scripts/mutate: the small changes that can be made in a function's body.

mutations_of(file, text) lists those of a file of C, places as offsets into its text.  A change keeps the number of lines.
"""
import collections
import re

Token = collections.namedtuple("Token", "text first end")
Mutation = collections.namedtuple("Mutation", "file first end operator old new")

TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*"""
    r"""|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^]=|[^\s\w]""", re.S | re.M)
BODY = re.compile(r"^\{\n.*?^\}$", re.S | re.M)  # clang-format puts a function's braces into column 1
SWAPS = {
    "relational": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "*=": "/=", "++": "--",
                   "--": "++", "<<": ">>", ">>": "<<"},
    "logical": {"&&": "||", "||": "&&"},
}
BINARY_ONLY = set("+-*/%")
CONTROL = {"if", "for", "while", "switch"}
NO_STATEMENT = CONTROL | {"do", "case", "default", "else", "return", "break", "continue", "goto", "sizeof",
                          "{", "}", ";"}
TYPES = {"const", "static", "unsigned", "signed", "int", "float", "double", "char", "long", "short", "struct", "union",
         "enum", "bool", "_Atomic", "_Thread_local", "void"}


def tokens_of(text, first, end):
    """The tokens of text[first:end], without comments and preprocessor lines."""
    found = (Token(m.group(), m.start(), m.end()) for m in TOKEN.finditer(text, first, end))
    return [t for t in found if not t.text.startswith(("/*", "//")) and not t.text.lstrip().startswith("#")]


def partners(tokens):
    """Index of the bracket that belongs to each bracket."""
    pair, stack = {}, []
    for i, t in enumerate(tokens):
        if t.text in ("(", "[", "{"):
            stack.append(i)
        elif t.text in (")", "]", "}") and stack:
            pair[i] = stack.pop()
            pair[pair[i]] = i
    return pair


def is_binary(text, t):
    return text[t.first - 1].isspace() and text[t.end].isspace()


def is_name(t):
    return re.match(r"[A-Za-z_]", t.text) is not None


def statements(tokens, pair):
    """(first, last) token of each simple statement; last is its semicolon."""
    starts = True
    i = 0
    while i < len(tokens):
        word = tokens[i].text
        if word in CONTROL and i + 1 in pair:
            i = pair[i + 1] + 1
            starts = True
            continue
        if starts and word not in NO_STATEMENT:
            end = i
            while end < len(tokens) and tokens[end].text not in (";", "}"):
                end = pair[end] + 1 if tokens[end].text in ("(", "[", "{") and end in pair else end + 1
            if end < len(tokens) and tokens[end].text == ";":
                yield i, end
                i = end
                word = ";"
        starts = word in (";", "{", "}", "else", "do", ":")
        i += 1


def is_declaration(tokens, first):
    a, b = tokens[first], tokens[first + 1]
    return a.text in TYPES or (is_name(a) and (is_name(b) or b.text == "*"))


def constants(t):
    """A number's neighbours, as text."""
    m = re.fullmatch(r"(\d+)([uUlL]*)", t.text)
    if m and not (len(m.group(1)) > 1 and t.text[0] == "0"):
        n = int(m.group(1))
        return [f"{n + 1}{m.group(2)}"] + ([f"{n - 1}{m.group(2)}"] if n > 0 else [])
    m = re.fullmatch(r"(\d+)(\.\d+f?)", t.text)
    return [f"{int(m.group(1)) + 1}{m.group(2)}"] if m else []


def returned(text):
    """What a function returns instead; None: another operator changes it."""
    if text == "DROVE_OK" or re.fullmatch(r"\d+", text):
        return None
    if re.search(r"[<>=!]=|[<>!](?![<>=])|&&|\|\||^(true|false)$", text.replace("->", ".")):
        return f"!({text})"
    return "0"


def mutations_of_body(file, text, first, end):
    tokens = tokens_of(text, first, end)
    pair = partners(tokens)
    found = []

    def add(a, b, operator, new):
        found.append(Mutation(file, a, b, operator, text[a:b], new))

    declared = set()  # tokens of declarators: brackets there are sizes, not indices
    for a, b in statements(tokens, pair):
        if is_declaration(tokens, a):
            for i in range(a, b):
                if tokens[i].text == "=":
                    break
                declared.add(i)
        elif tokens[a].text != "assert" and text[tokens[a].first:tokens[a].first + 6] != "(void)":
            add(tokens[a].first, tokens[b].end, "statement",
                ";" + "\n" * text.count("\n", tokens[a].first, tokens[b].end))
    for i, t in enumerate(tokens):
        for operator, swap in SWAPS.items():
            if t.text in swap and (t.text not in BINARY_ONLY or is_binary(text, t)):
                add(t.first, t.end, operator, swap[t.text])
        for new in constants(t) if i not in declared else []:
            add(t.first, t.end, "constant", new)
        if t.text in ("if", "while") and i + 1 in pair:
            a, b = tokens[i + 1].end, tokens[pair[i + 1]].first
            add(a, b, "condition", f"!({text[a:b]})")
        if t.text == "[" and i in pair and i > 0 and i not in declared and (
                is_name(tokens[i - 1]) or tokens[i - 1].text in (")", "]")):
            a, b = t.end, tokens[pair[i]].first
            add(a, b, "index", f"{text[a:b]} + 1")
            add(a, b, "index", f"{text[a:b]} - 1")
        if t.text in ("break", "continue"):
            add(t.first, t.end, "break", "")
        if t.text == "return" and tokens[i + 1].text != ";":
            last = next(j for j in range(i, len(tokens)) if tokens[j].text == ";")
            a, b = tokens[i + 1].first, tokens[last].first
            new = returned(text[a:b])
            if new is not None:
                add(a, b, "return", new + "\n" * text.count("\n", a, b) if new == "0" else new)
    return found


def mutations_of(file, text):
    return [m for body in BODY.finditer(text) for m in mutations_of_body(file, text, body.start() + 1, body.end() - 1)]


def line_of(text, at):
    return text.count("\n", 0, at) + 1


# ---- the self-test ----

EXAMPLE = """\
#include "a.h" /* i < 3 */
static const int table[] = {1, 2};
int f(int *v, size_t n)
{
    float spare[8] = {0};
    const char *text = "a && b";
    for (size_t i = 0; i < n; i++) v[i] += 2;
    if (n == 0 && v != NULL) return -1; /* n == 0 */
    while (g(n)) {
        if (v[0]) break;
        tell(v,
             n);
    }
    return n > 1;
}
"""
EXPECTED = [
    "5 constant 0 1", "7 arithmetic += -=", "7 arithmetic ++ --", "7 constant 0 1", "7 constant 2 1", "7 constant 2 3",
    "7 index i i + 1", "7 index i i - 1", "7 relational < <=", "7 statement v[i] += 2; ;",
    "8 condition n == 0 && v != NULL !(n == 0 && v != NULL)", "8 constant 0 1", "8 constant 1 0", "8 constant 1 2",
    "8 logical && ||", "8 relational != ==", "8 relational == !=", "8 return -1 0",
    "9 condition g(n) !(g(n))", "10 break break ", "10 condition v[0] !(v[0])", "10 constant 0 1", "10 index 0 0 + 1",
    "10 index 0 0 - 1", "11 statement tell(v, n); ; ", "14 constant 1 0", "14 constant 1 2", "14 relational > >=",
    "14 return n > 1 !(n > 1)",
]


def self_test():
    found = [f"{line_of(EXAMPLE, m.first)} {m.operator} {m.old} {m.new}" for m in mutations_of("a.c", EXAMPLE)]
    found = collections.Counter(re.sub(r"\s+", " ", s) for s in found)
    wanted = collections.Counter(EXPECTED)
    if found != wanted:
        for s in sorted((found - wanted) + (wanted - found)):
            print(("not expected: " if found[s] > wanted[s] else "not found: ") + s)
        return 1
    for m in mutations_of("a.c", EXAMPLE):
        changed = EXAMPLE[:m.first] + m.new + EXAMPLE[m.end:]
        if changed == EXAMPLE or changed.count("\n") != EXAMPLE.count("\n"):
            print(f"expected a change that keeps the lines: {m}")
            return 1
    print(f"{len(EXPECTED)} mutations as expected")
    return 0
