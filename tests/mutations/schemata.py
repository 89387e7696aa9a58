"""schemata.py - judges every mutation of a file by one build of its tests, for scripts/mutate --every.

All mutations of a file stand in one text, each behind a question: (drove_mutated(7) ? (a - b) : (a + b)).  The
environment chooses one (choose.h), so a mutation costs a run of a test, not a compilation.  A first run without one
notes which mutations each test comes to; no other test can see them.

Source: Untch, Offutt, Harrold: Mutation Analysis Using Mutant Schemata, ISSTA 1993.

The mutations are those of operators.py.  What cannot be chosen at run time is left out: labels of cases, sizes of
arrays, initial values of static variables, and what does not compile.
"""
import bisect
import collections
import concurrent.futures
import contextlib
import os
import re
import shlex
import sys
import tempfile
import threading
import time

import operators

try:
    import tree_sitter
    import tree_sitter_c
except ImportError:
    tree_sitter = None

SLOW_FACTOR, SLOW_LEAST_S = 8, 2.5  # a test is stopped after both
SLOW_SHARE = 3                      # without the mutation it must take less than this part of it
SOUND_S = 10                        # a failure counts where the test has passed without a mutation so shortly before
START_S = 0.05                      # of a program, about
QUESTION = "drove_mutated"          # choose.h
FLAGS = "-w -O1"                    # the text is several times as long as the file
FIXED = {
    "array_declarator": "size of an array", "bitfield_clause": "width of a field", "enumerator": "value of an enum",
    "subscript_designator": "place in an initializer", "sizeof_expression": "in sizeof",
    "alignof_expression": "in alignof", "offsetof_expression": "in offsetof", "type_descriptor": "part of a type",
    "ERROR": "not understood by the parser",
}
HOLDERS = {
    "relational": ("binary_expression",), "logical": ("binary_expression",),
    "arithmetic": ("binary_expression", "assignment_expression", "update_expression"),
    "break": ("break_statement", "continue_statement"), "statement": ("expression_statement",),
}

STATEMENTS = ("break", "statement")  # operators that change one


def missing():
    """What to install; None: all is there."""
    return None if tree_sitter else "tree-sitter and tree-sitter-c of PyPI: pip install tree-sitter tree-sitter-c"


# ---- places ----

def smallest_node(root, text, m):
    """The smallest node of the syntax tree that holds a mutation, white space at its ends apart."""
    old = text[m.first:m.end]
    first = m.first + len(old) - len(old.lstrip())
    return root.descendant_for_byte_range(first, max(first, m.first + len(old.rstrip())))


def whole(node):
    """The expression in which one operator changes to another of a different rank: c / a * b is not c / (a + b)."""
    def operator_of(n):
        return n.child_by_field_name("operator").type

    is_logical = operator_of(node) in ("&&", "||")
    while node.parent.type == "binary_expression" and (is_logical or operator_of(node.parent) not in ("&&", "||")):
        node = node.parent
    return node


def holder_of(root, text, m):
    """(the node to choose for a mutation, None) or (None, why there is none)."""
    node = smallest_node(root, text, m)
    wanted = HOLDERS.get(m.operator)
    if wanted:
        if node.type not in wanted:
            node = node.parent
        if node is None or node.type not in wanted:
            return None, "not a statement" if m.operator in STATEMENTS else "not in an expression"
    if m.operator == "statement" and (node.start_byte, node.end_byte) != (m.first, m.end):
        return None, "not a statement"
    if node.type == "binary_expression" and wanted:
        node = whole(node)
    reason = "not understood by the parser" if node.has_error else fixed(node)
    if reason is None and m.operator not in STATEMENTS and "#" in starts_of_lines(text, node):
        reason = "across a line of the preprocessor"
    return (None, reason) if reason else (node, None)


def starts_of_lines(text, node):
    lines = text[node.start_byte:node.end_byte].split("\n")[1:]
    return {line.lstrip()[:1] for line in lines}


def fixed(node):
    """Why the value of an expression must be known to the compiler; None: it need not."""
    while node.parent is not None and node.type != "function_definition":
        child, node = node, node.parent
        if node.type in FIXED:
            return FIXED[node.type]
        if node.type == "case_statement" and child == node.child_by_field_name("value"):
            return "label of a case"
        if node.type == "declaration" and any(c.type == "storage_class_specifier" for c in node.children):
            return "initial value of a static variable"
    return None


# ---- the text ----

def one_line(text):
    return " ".join(t.text for t in operators.tokens_of(text, 0, len(text)))


class Schema:
    """The text of a file with all its mutations, numbered from 1 on, and why others are left out."""

    def __init__(self, file, text, header):
        self.text, self.header = text, header
        self.mutations = dict(enumerate(operators.mutations_of(file, text), 1))
        self.left_out = {}
        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))
        self.root = parser.parse(text.encode("ascii", "replace")).root_node  # a byte for each character
        self.holders = {}
        for k, m in self.mutations.items():
            node, reason = holder_of(self.root, text, m)
            if reason:
                self.left_out[k] = reason
            else:
                self.holders[k] = node

    def numbers(self):
        return [k for k in self.mutations if k not in self.left_out]

    def made(self):
        """(lines before the text, the text): it has as many lines as the file."""
        self.at = collections.defaultdict(list)
        for k in self.numbers():
            self.at[self.holders[k].id].append(k)
        self.starts = sorted(self.holders[k].start_byte for k in self.numbers())
        before = f'#define DROVE_MUTATIONS {len(self.mutations)}\n#include "{self.header}"\n#line 1\n'
        return before, self.emit(self.root)

    def emit(self, node):
        """The text of a node with its mutations."""
        first, end = (0, len(self.text)) if node.parent is None else (node.start_byte, node.end_byte)
        here = bisect.bisect_left(self.starts, first)
        if here == len(self.starts) or self.starts[here] >= end:
            return self.text[first:end]
        parts, at = [], first
        for child in node.children:
            parts += [self.text[at:child.start_byte], self.emit(child)]
            at = child.end_byte
        old = "".join(parts) + self.text[at:end]
        for k in self.at[node.id]:
            m = self.mutations[k]
            if m.operator in STATEMENTS:
                old = f"{{ if (!{QUESTION}({k})) {old} }}"
            else:
                new = one_line(self.text[first:m.first] + m.new + self.text[m.end:end])
                old = f"({QUESTION}({k}) ? ({new}) : ({old}))"
        return old


def spans(made):
    """[(first, end, k)] of the brackets around each question, the outer ones first."""
    tokens = operators.tokens_of(made, 0, len(made))
    pair = operators.partners(tokens)
    found = []
    for i, t in enumerate(tokens):
        if t.text == QUESTION:
            opens = i - 1 if tokens[i - 1].text == "(" else i - 4
            found.append((tokens[opens].first, tokens[pair[opens]].end, int(tokens[i + 2].text)))
    return sorted(found, key=lambda s: (s[0], -s[1]))


def blamed(made, name, messages):
    """The mutations at which the compiler found errors: the innermost at each place."""
    starts = [0] + [m.end() for m in re.finditer("\n", made)]
    around, found = spans(made), set()
    place = re.compile(rf"/{re.escape(name)}:(\d+):(\d+): (?:error|note: in expansion)")
    for line, column in place.findall(messages):
        at = starts[int(line) - 1] + int(column) - 1
        inside = [k for first, end, k in around if first <= at < end]
        found |= set(inside[-1:])
    return found


# ---- the build ----

@contextlib.contextmanager
def standing(tree):
    """write(file, text) puts a text into the copy of the tree; at the end of the block the file is as it was."""
    kept = {}

    def put(path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def write(file, text):
        path = os.path.join(tree.source, file)
        if path not in kept:
            with open(path, encoding="utf-8") as f:
                kept[path] = f.read()
        put(tree.mark, file)
        put(tree.flags, FLAGS)
        put(path, text)

    try:
        yield write
    finally:
        for path, text in kept.items():
            put(path, text)
        put(tree.mark, "")
        put(tree.flags, "")


def preprocessed(tree, file):
    """The numbers that the compiler comes to: code under #if may be of another machine."""
    commands = tree.must("ninja", "-C", tree.build, "-t", "commands", tree.objects[file])
    words = shlex.split(commands.strip().splitlines()[-1])
    for option in ("-o", "-MF", "-MT"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    words = ["-E" if w == "-c" else w for w in words if w != "-MD"]
    return {int(k) for k in re.findall(rf"{QUESTION}\((\d+)\)", tree.must(*words, cwd=tree.build))}


def build(tree, file, schema, tests):
    """The tests of a file with all mutations in it; mutations that do not compile are left out."""
    name = os.path.basename(file)
    with standing(tree) as write:
        while True:
            before, made = schema.made()
            write(file, before + made)
            done = tree.run("ninja", "-C", tree.build, tree.objects[file], env=dict(os.environ, LC_ALL="C"))
            if done.returncode == 0:
                break
            bad = blamed(made, name, done.stdout)
            if not bad:
                sys.exit(f"scripts/mutate: {file} does not compile with its mutations\n{done.stdout[-3000:]}")
            schema.left_out.update(dict.fromkeys(bad, "does not compile"))
        there = preprocessed(tree, file)
        schema.left_out.update(dict.fromkeys(set(schema.numbers()) - there, "not compiled here"))
        tests = tree.build_tests(tests)
    if tests is None:
        sys.exit(f"scripts/mutate: the tests of {file} do not build")
    return tests


# ---- judging ----

class Judge:
    """The tests of a file, built with all its mutations: how long each takes, and which mutations it comes to."""

    def __init__(self, tree, run_test, n_mutations):
        self.tree, self.run_test, self.n_mutations = tree, run_test, n_mutations
        self.tests, self.usual, self.reached = {}, {}, {}
        self.kills, self.passed_at = collections.Counter(), {}
        self.locks = {}     # of tests that fail beside themselves
        self.suspects = {}  # mutation -> the test that took too long, beside others

    def run(self, test, limit_s, variables=()):
        """run_test in an empty folder, as the same test runs several times at once, up to its first failure."""
        variables = dict(variables, CMOCKA_TEST_ABORT="1")
        with self.locks.get(test["name"], contextlib.nullcontext()), \
                tempfile.TemporaryDirectory(dir=self.tree.folder, ignore_cleanup_errors=True) as folder:
            return self.run_test(dict(test, WORKING_DIRECTORY=folder), limit_s, threading.Event(), variables)

    def passes_beside_itself(self, test):
        """Files of a fixed name, ports and such are a reason why not."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return all(pool.map(lambda _: self.run(test, self.limit_s(test["name"]))[0], range(2)))

    def measure(self, test):
        """Runs a test without a mutation.  Returns why it is left out; None: it passed."""
        name = test["name"]
        with tempfile.NamedTemporaryFile(dir=self.tree.folder, prefix="reached") as f:
            f.truncate(self.n_mutations + 1)
            passed, seconds = self.run(test, self.tree.limit_s(name), {"DROVE_MUTATIONS_REACHED": f.name})
            reached = f.read()
        if passed is None:
            return "it was skipped"
        if not passed:
            return "it fails without a mutation"
        if seconds > self.tree.longest_s:
            return f"it takes {seconds:.1f} s"
        self.tests[name], self.usual[name], self.reached[name] = test, seconds, reached
        if self.tree.jobs > 1 and not self.passes_beside_itself(test):
            self.locks[name] = threading.Lock()
        self.passed_at[name] = time.monotonic()
        return None

    def limit_s(self, name):
        return max(SLOW_LEAST_S, SLOW_FACTOR * self.usual[name])

    def likeliest_first(self, k):
        """Tests that come to a mutation: the one that took too long, then by time for each mutation seen so far."""
        names = [name for name, reached in self.reached.items() if reached[k]]
        return sorted(names, key=lambda n: (n != self.suspects.get(k), (self.usual[n] + START_S) / (1 + self.kills[n])))

    def is_sound(self, name, is_slow):
        """Does a test pass without a mutation now, where one makes it slow in a third of the limit?"""
        if not is_slow and time.monotonic() - self.passed_at[name] <= SOUND_S:
            return True
        passed, seconds = self.run(self.tests[name], self.limit_s(name))
        if passed is True:
            self.passed_at[name] = time.monotonic()
        return passed is True and (not is_slow or SLOW_SHARE * seconds <= self.limit_s(name))

    def verdict(self, k, is_alone):
        """What the tests say of a mutation, as fields of a record; None: one took too long, beside others."""
        begin, uncounted, n_passed, killer = time.monotonic(), [], 0, None
        for name in self.likeliest_first(k):
            passed, seconds = self.run(self.tests[name], self.limit_s(name), {"DROVE_MUTATION": str(k)})
            n_passed += passed is True
            if passed is not False:
                continue
            is_slow = seconds > self.limit_s(name)
            if is_slow and not is_alone:
                self.suspects[k] = name
                return None
            if self.is_sound(name, is_slow):
                killer = name
                self.kills[name] += 1
                break
            uncounted.append(name)
        record = {"outcome": "killed" if killer else "survived", "test": killer}
        record.update({"by": "own"} if killer else {})
        record.update({"uncounted": uncounted} if uncounted else {})
        return dict(record, seconds=round(time.monotonic() - begin, 1), n_passed=n_passed)

    def is_reached(self, k):
        return any(reached[k] for reached in self.reached.values())


@contextlib.contextmanager
def pool_of(jobs):
    """A pool of threads that begins nothing more when the block ends by an exception."""
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def left_out_text(schema, k):
    m = schema.mutations[k]
    old, new = (re.sub(r"\s+", " ", s)[:40] for s in (m.old, m.new))
    line = operators.line_of(schema.text, m.first)
    return f"left out   {m.file}:{line}: {m.operator}: {old} -> {new}  [{schema.left_out[k]}]"


def judged(tree, file, run_test):
    """Yields (mutation, fields of its record) for every mutation of a file that can be chosen at run time; prints the
    others.  What was seen by time alone is judged once more, at the end, when nothing else runs."""
    begin = time.monotonic()
    with open(os.path.join(tree.source, file), encoding="utf-8") as f:
        text = f.read()
    header = os.path.relpath(os.path.join("tests", "mutations", "choose.h"), os.path.dirname(file))
    schema = Schema(file, text, header)
    own, _ = tree.kinds_for(file)
    tests = [t for t in tree.tests_of(own) if tree.usual.get(t["name"], 0) <= tree.longest_s]
    tests = build(tree, file, schema, tests)
    for k in sorted(schema.left_out):
        print(left_out_text(schema, k))
    judge = Judge(tree, run_test, len(schema.mutations))
    with pool_of(tree.jobs) as pool:
        for test, reason in zip(tests, pool.map(judge.measure, tests)):
            if reason:
                print(f"left out   {test['name']}: {reason}")
    unreached = [k for k in schema.numbers() if not judge.is_reached(k)]
    print(f"{file}: {len(schema.mutations)} mutations, {len(schema.left_out)} left out, {len(unreached)} reached by no "
          f"test; {len(judge.tests)} tests; {time.monotonic() - begin:.0f} s to build them", flush=True)
    again = []
    with pool_of(tree.jobs) as pool:
        numbers = schema.numbers()
        for k, verdict in zip(numbers, pool.map(lambda k: judge.verdict(k, False), numbers)):
            if verdict is None:
                again.append(k)
            else:
                yield schema.mutations[k], verdict
    for k in again:
        yield schema.mutations[k], judge.verdict(k, True)
