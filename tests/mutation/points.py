"""Where a C++ source can be mutated, and how the mutants are written into it.

All mutants of a file are in one text: each point checks at run time whether its
mutant is on (switch.h). So a sample of any size is compiled once. A point is a
range of the file and its replacement, a list of strings and of ranges of the
file, which may contain points themselves. The replacement always contains the
whole range, so several points can have the same range.
"""

import collections
import dataclasses
import functools
import re

import tree_sitter
import tree_sitter_cpp

COMPARED = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="),
            ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
OPERATORS = {**COMPARED, "&&": ("||",), "||": ("&&",), "+": ("-",),
             "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",)}
CALLS = {"any_of": "all_of", "all_of": "any_of", "none_of": "any_of",
         "min": "max", "max": "min", "lower_bound": "upper_bound",
         "upper_bound": "lower_bound"}
# These run at compile time or are not code.
COMPILED = {"template_argument_list", "template_parameter_list",
            "static_assert_declaration", "array_declarator", "enumerator",
            "attribute_declaration", "noexcept", "decltype", "sizeof_expression",
            "bitfield_clause", "optional_parameter_declaration",
            "preproc_if", "preproc_def", "preproc_function_def", "ERROR"}
LEAVES = {"return_statement", "continue_statement", "break_statement",
          "throw_statement"}
PLAIN = re.compile(r"\{\}|\"\"|false|nullptr|0|std::nullopt")


@dataclasses.dataclass(frozen=True)
class Point:
    path: str
    line: int
    kind: str
    change: str  # "before  =>  after", on one line
    begin: int
    end: int
    parts: tuple  # strings with ON for "this mutant is on", and (begin, end)
    nth: int = 1  # number among equal changes

    @property
    def key(self):
        """Identifies the mutant even after other lines of the file change."""
        more = f" (no. {self.nth})" if self.nth > 1 else ""
        return f"{self.path} | {self.kind} | {self.change}{more}"


ON = "\0"


@functools.cache
def parser():
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def find(path, source):
    """Every point of a file, in order."""
    finder = Finder(path, source)
    finder.visit(parser().parse(source).root_node)
    seen, points = collections.Counter(), []
    for point in sorted(finder.points, key=lambda p: (p.begin, -p.end)):
        seen[point.key] += 1
        points.append(dataclasses.replace(point, nth=seen[point.key]))
    return points


class Finder:
    def __init__(self, path, source):
        self.path, self.source, self.points = path, source, []

    def text(self, node):
        return self.source[node.start_byte:node.end_byte].decode()

    def short(self, text):
        text = " ".join(text.split())
        return text if len(text) <= 90 else text[:56] + " ... " + text[-29:]

    def add(self, node, kind, change, *parts):
        self.points.append(Point(
            self.path, node.start_point[0] + 1, kind, self.short(change),
            node.start_byte, node.end_byte,
            tuple((part.start_byte, part.end_byte)
                  if isinstance(part, tree_sitter.Node) else part
                  for part in parts)))

    def visit(self, node):
        if node.type in COMPILED or compile_time(node, self.text(node)):
            return
        look = getattr(self, node.type, None)
        if look:
            look(node)
        for child in node.children:
            if not (node.type == "case_statement"
                    and child == node.child_by_field_name("value")):
                self.visit(child)

    # --- Expressions ----------------------------------------------------------

    def binary_expression(self, node):
        left = node.child_by_field_name("left")
        right = node.child_by_field_name("right")
        operator = self.text(node.child_by_field_name("operator"))
        if operator == "+" and '"' in self.text(left) + self.text(right):
            return  # of strings
        for other in OPERATORS.get(operator, ()):
            self.add(node, "operator",
                     f"{self.text(node)}  =>  {other}",
                     f"({ON} ? (", left, f" {other} ", right, ") : ", node,
                     ")")

    def unary_expression(self, node):
        if self.text(node.child_by_field_name("operator")) == "!":
            self.add(node, "negation", f"{self.text(node)}  =>  without !",
                     f"({ON} != ", node, ")")

    def number_literal(self, node):
        text = self.text(node)
        found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlLzZ]*)", text)
        if not found or node.parent.type == "field_initializer":
            return
        value = int(found.group(1), 0) if found.group(1)[:2] in ("0x", "0X") \
            else int(found.group(1))
        around = self.short(self.text(node.parent))
        for other in sorted({value + 1, abs(value - 1)}):
            self.add(node, "number", f"{text} in {around}  =>  {other}",
                     f"({ON} ? {other}{found.group(2)} : ", node, ")")

    def true(self, node):
        self.boolean(node, "false")

    def false(self, node):
        self.boolean(node, "true")

    def boolean(self, node, other):
        around = self.short(self.text(node.parent))
        self.add(node, "boolean", f"{self.text(node)} in {around}  =>  {other}",
                 f"({ON} ? {other} : ", node, ")")

    def call_expression(self, node):
        function = node.child_by_field_name("function")
        name = re.fullmatch(r"std::(?:ranges::)?(\w+)(<.*>)?",
                            self.text(function))
        if not name or name.group(1) not in CALLS:
            return
        other = self.text(function).replace(name.group(1),
                                            CALLS[name.group(1)], 1)
        arguments = node.child_by_field_name("arguments")
        self.add(node, "algorithm",
                 f"{self.text(node)}  =>  {CALLS[name.group(1)]}",
                 f"({ON} ? {other}", arguments, " : ", node, ")")

    def conditional_expression(self, node):
        self.condition(node.child_by_field_name("condition"), node)

    # --- Statements -----------------------------------------------------------

    def if_statement(self, node):
        clause = node.child_by_field_name("condition")
        value = clause and clause.child_by_field_name("value")
        if value is None or value.type in ("declaration",
                                           "condition_declaration"):
            return
        self.condition(value, node)
        guarded = only_leaves(node.child_by_field_name("consequence"))
        if guarded and node.child_by_field_name("alternative") is None:
            self.add(value, "guard", f"if ({self.text(value)})  =>  never",
                     f"(!{ON} && static_cast<bool>(", value, "))")

    def condition(self, value, owner):
        """Comparisons and negations have points of their own."""
        if value.type == "binary_expression" and self.text(
                value.child_by_field_name("operator")) in COMPARED:
            return
        if value.type == "unary_expression" and self.text(
                value.child_by_field_name("operator")) == "!":
            return
        self.add(value, "condition",
                 f"{owner.type.split('_')[0]} {self.text(value)}  =>  not",
                 f"({ON} != static_cast<bool>(", value, "))")

    def expression_statement(self, node):
        what = node.named_children[0] if node.named_children else None
        if what is not None and what.type in (
                "call_expression", "assignment_expression",
                "update_expression"):
            self.statement(node)

    def continue_statement(self, node):
        self.leave(node)

    def break_statement(self, node):
        self.leave(node)

    def leave(self, node):
        if node.parent.type == "compound_statement" \
                and len(node.parent.named_children) > 1:
            self.statement(node)

    def statement(self, node):
        self.add(node, "statement", f"{self.text(node)}  =>  nothing",
                 f"{{ if (!{ON}) ", node, " }")

    def return_statement(self, node):
        value = node.named_children[0] if node.named_children else None
        text = self.text(value) if value is not None else "{}"
        if PLAIN.fullmatch(text) or text == "true":
            return
        self.add(node, "result", f"{self.text(node)}  =>  {{}}",
                 f"{{ if ({ON}) return {{}}; ", node, " }")


def compile_time(node, text):
    if node.type == "if_statement":
        return text.startswith("if constexpr")
    return node.type in ("declaration", "function_definition",
                         "field_declaration") and any(
        child.type == "type_qualifier" and child.text in (
            b"constexpr", b"consteval", b"constinit")
        for child in node.children)


def only_leaves(body):
    """Whether a guarded statement only leaves."""
    if body is None:
        return False
    if body.type == "compound_statement":
        named = [n for n in body.named_children if n.type != "comment"]
        return len(named) == 1 and only_leaves(named[0])
    return body.type in LEAVES


# --- Writing -----------------------------------------------------------------


def write(source, numbered):
    """The mutated text and, for each point, the range of its text in it.

    `numbered` is {number: Point}; numbers count from 1.
    """
    out, spans = bytearray(), []
    order = sorted(numbered.items(),
                   key=lambda item: (item[1].begin, -item[1].end, item[0]))

    def range_of(begin, end, inside):
        at = begin
        while inside:
            number, point = inside[0]
            nested = [item for item in inside[1:] if item[1].begin < point.end]
            inside = [item for item in inside[1:] if item[1].begin >= point.end]
            out.extend(source[at:point.begin])
            place(number, point, nested)
            at = point.end
        out.extend(source[at:end])

    def place(number, point, nested):
        start = len(out)
        for part in point.parts:
            if isinstance(part, str):
                out.extend(part.replace(
                    ON, f"::mutation::is({number})").encode())
            else:
                range_of(*part, [item for item in nested
                                 if part[0] <= item[1].begin
                                 and item[1].end <= part[1]])
        spans.append((start, len(out), number))

    range_of(0, len(source), order)
    return bytes(out), spans


def at(text, spans, line, column):
    """The mutant whose text is closest around a place of the mutated text."""
    begins = [0] + [m.end() for m in re.finditer(rb"\n", text)]
    offset = begins[line - 1] + column - 1
    around = [(end - begin, number) for begin, end, number in spans
              if begin <= offset <= end]
    return {min(around)[1]} if around else set()
