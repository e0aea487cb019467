"""Finds the SQL in the package's sources, and the names in it that depend on the search path.

PostgreSQL looks for a name without a schema in the session's search path, and likewise for
operators, even those implied by SQL keywords. A user with the right to create objects in one of
these schemas can substitute his own. So the package's SQL names the schema of every function,
type, operator and catalog table; this module finds those without one.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Text(NamedTuple):
    """A string of a source file; its interpolations are written as `{}`."""

    file: str
    line: int
    sql: str


# A hole for a name, a list or an expression, which is checked where it is composed.
_HOLE = "\x00"
# The beginnings of statements; a single word could also begin a sentence.
_STATEMENT = re.compile(
    r"\s*(?:"
    r"select\s+\S|values\s*\(|with\s+(?:recursive\s+)?\S+\s*(?:\(.*?\)\s*)?as\s*\("
    r"|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|truncate\s+\S+\s*$"
    r"|create\s+(?:unlogged\s+|temporary\s+)?(?:table|type|view|domain)\s|alter\s+table\s"
    r"|drop\s+(?:table|type|view)\s|copy\s+\S+.*\s(?:from|to)\s|explain\s|merge\s+into\s"
    r"|declare\s.*\sfor\s"
    r")",
    re.IGNORECASE | re.DOTALL,
)
# Signs of a part of a statement, in a text inserted into another.
_PART = re.compile(
    r"\bpg_catalog\.|(?<=[\w)\]'\"\x00])::\s*[\"a-z_\x00]|\bOPERATOR\s*\(|\bNULL::"
    r"|\bIS\s+(?:NOT\s+)?(?:NULL|DISTINCT)\b|\bCASE\s+WHEN\b|\b(?:json|jsonb)_[a-z_]+\("
    r"|\b(?:WHERE|ORDER BY|LEFT JOIN|CROSS JOIN|ON CONFLICT)\b",
)
_PROSE = re.compile(r"[a-z] [a-z]+ [a-z]+ [a-z]+ [a-z]")
_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<string>[eE]?'(?:[^']|'')*'|\$\$.*?\$\$)
    |(?P<name>"(?:[^"]|"")*"|[A-Za-z_\x00][\w$\x00]*)
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<parameter>\$(?:\d+|\x00))
    |(?P<cast>::)
    |(?P<sign>=>|[-+*/<>=~!@#%^&|`?]+)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Keywords before a parenthesis that are no functions, or functions of SQL's grammar.
_WORDS = """
    all and any array as by case check coalesce collate columns conflict copy cross default distinct
    else end except exists explain extract filter first from full group having if in include inner
    insert intersect into is join key lateral left limit list materialized not null offset on only
    or order over partition range references returning right row rows select set some table then to
    union unique update using values when where with within numeric time timestamp interval varchar
    char greatest least ordinality recursive operator cast and between like tablesample vacuum
    analyze begin stdin stdout constraint primary
"""
_BEFORE_BRACKET = frozenset(_WORDS.split())
# Types of SQL's grammar: they mean pg_catalog's types in every search path.
_TYPE_WORDS = """
    bigint bit boolean char character dec decimal double float int integer interval national nchar
    numeric precision real smallint time timestamp varchar varying
"""
_GRAMMAR_TYPES = frozenset(_TYPE_WORDS.split())
# SQL keywords that compare with an operator from the search path.
_HIDDEN = {
    **dict.fromkeys(("in", "between", "like", "ilike", "similar", "nullif", "using"), ""),
    "natural": "",
}


def of_python(path: Path, name: str) -> list[Text]:
    """The strings of a Python file that are SQL or a part of it."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            parts = [_part(part) for part in node.values]
            found.append(Text(name, node.lineno, "".join(parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A template for `str.format` has its holes in braces; a LIKE pattern has no holes.
            text = re.sub(r"\{\w*\}", _HOLE, node.value)
            found.append(Text(name, node.lineno, text))
    return [text for text in found if is_sql(text.sql)]


def _part(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else _HOLE


_RUST_STRING = re.compile(
    r"//[^\n]*|'(?:\\.|[^'\\])'"
    r'|r(?P<marks>#*)"(?P<raw>.*?)"(?P=marks)|"(?P<plain>(?:\\.|[^"\\])*)"',
    re.DOTALL,
)


def of_rust(path: Path, name: str) -> list[Text]:
    """The strings of a Rust file, without its tests, that are SQL or a part of it."""
    source = path.read_text("utf-8").split("#[cfg(test)]")[0]
    found = []
    for match in _RUST_STRING.finditer(source):
        text = match["raw"] if match["plain"] is None else match["plain"]
        if text is None:
            continue
        text = re.sub(r"\\\n\s*", "", text).replace("\\n", "\n").replace('\\"', '"')
        text = re.sub(r"\{[\w.:?]*\}", _HOLE, text)
        if is_sql(text):
            found.append(Text(name, source.count("\n", 0, match.start()) + 1, text))
    return found


def is_sql(text: str) -> bool:
    """Whether a string is a statement, or has SQL syntax that does not occur in messages."""
    if is_statement(text):
        return True
    return bool(_PART.search(text)) and not _PROSE.search(text)


def is_statement(text: str) -> bool:
    """Whether the text is a whole statement or the beginning of one."""
    first = text.split(maxsplit=1)[:1]
    # A sentence begins with a capital letter, followed by small ones.
    return bool(_STATEMENT.match(text)) and (first[0].isupper() or first[0].islower())


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        """The word in lower case; None for a quoted name."""
        return self.text.lower() if self.kind == "name" and self.text[0] != '"' else ""


def _tokens(sql: str) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_Token(kind, match[0]))
    return found


def unqualified(sql: str) -> list[str]:
    """The parts of a text that depend on the search path, described for a message."""
    nothing = _Token("other", "")
    tokens = [nothing, nothing, *_tokens(sql), nothing, nothing, nothing]
    local = _local_names(tokens)
    found = list(_column_types(tokens))
    for at in range(2, len(tokens) - 3):
        found += _at(tokens, at, local)
    return found


def _local_names(tokens: list[_Token]) -> set[str]:
    """Names of common table expressions, and of aliases with a column list: `AS wanted (a, b)`."""
    names = set()
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_common = before.word in {"recursive", "with"}
        is_aliased = after.text == "(" and before.word in {"as", "ordinality"}
        if token.kind == "name" and (is_common or is_aliased):
            names.add(token.word)
    return names


def _at(tokens: list[_Token], at: int, local: set[str]) -> Iterator[str]:
    before, token, after = tokens[at - 1], tokens[at], tokens[at + 1]
    if token.kind == "sign":
        if not _has_no_choice(tokens, at):
            yield f"the operator {token.text}"
    elif token.kind == "cast":
        yield from _type(after, tokens[at + 2])
        is_registered = after.word.startswith("reg") or tokens[at + 3].word.startswith("reg")
        if before.kind == "string" and is_registered and "pg_catalog." not in before.text:
            yield f"what {before.text} names"
    elif token.kind == "name" and before.text != "." and after.text != ".":
        yield from _name(before, token, after, local)


def _name(before: _Token, token: _Token, after: _Token, local: set[str]) -> Iterator[str]:
    if (
        token.word in _HIDDEN
        and before.word != "as"
        and not _compares_nothing(before, token, after)
    ):
        yield f"the operator within {token.text.upper()}"
    elif token.word == "distinct" and after.word == "from":
        yield "the operator within IS DISTINCT FROM"
    elif token.word == "case" and after.word != "when":
        yield "the operator within CASE value WHEN"
    elif token.word == "cast" and after.text == "(":
        yield "the type of CAST, which must be written as ::"
    elif token.word == "tablesample" and after.word != "pg_catalog":
        yield f"the method {after.text}"
    elif after.text == "(" and _is_function(before, token, local):
        yield f"the function {token.text}"
    elif after.kind == "string" and token.word not in _BEFORE_BRACKET | _GRAMMAR_TYPES | {""}:
        yield f"the type {token.text}"
    elif token.word.startswith("pg_"):
        yield f"the table {token.text}"


def _compares_nothing(before: _Token, token: _Token, after: _Token) -> bool:
    """Whether it is the USING of DELETE, before a relation, or the IN of a partition's bounds."""
    return (token.word == "using" and after.kind == "name") or before.word == "values"


def _is_function(before: _Token, token: _Token, local: set[str]) -> bool:
    if token.text[0] == '"' or _HOLE in token.text or token.word in _BEFORE_BRACKET | local:
        return False
    # A relation with a column list, or an alias with one.
    return before.word not in {"into", "as", "table", "copy"}


def _has_no_choice(tokens: list[_Token], at: int) -> bool:
    """Whether a sign belongs to an operator with a schema, or to no operator."""
    before, token, after = tokens[at - 1], tokens[at], tokens[at + 1]
    # PL/pgSQL assigns by `:=`.
    if before.text in {".", ":"} or token.text == "=>":
        return True
    is_first = before.text in {"", "(", ",", "["} or before.word in _BEFORE_BRACKET
    if token.text == "*":
        # The star of all columns, or of `count(*)`.
        return is_first and tokens[at - 2].word != "operator"
    if token.text == "-" and after.kind == "number":
        # The sign of a number.
        return is_first or (before.text == ")" and tokens[at - 2].kind == "sign")
    return token.text == "=" and _is_assignment(tokens, at)


def _is_assignment(tokens: list[_Token], at: int) -> bool:
    """Whether the sign is that of `SET name = value` and no comparison."""
    for token in reversed(tokens[:at]):
        if token.word == "set":
            return True
        if token.word in {"where", "on", "and", "or", "select", "when", "having"}:
            return False
    return False


def _type(token: _Token, following: _Token) -> Iterator[str]:
    if following.text == "." or _HOLE in token.text or token.word in _GRAMMAR_TYPES:
        return
    yield f"the type {token.text}"


def _column_types(tokens: list[_Token]) -> Iterator[str]:
    """The types of columns in `CREATE TABLE name (column type, ...)` and `ADD COLUMN name type`."""
    depth: int | None = None
    is_made = False
    for at in range(2, len(tokens) - 3):
        before, token = tokens[at - 1], tokens[at]
        is_made = is_made or (token.word == "create" and depth is None)
        if is_made and token.text == "(" and depth is None:
            depth = 0
        depth = None if depth is None else depth + {"(": 1, ")": -1}.get(token.text, 0)
        begins = (depth == 1 and token.text in {"(", ","}) or before.word == "add"
        if before.word == "add" and token.word != "column":
            at -= 1  # noqa: PLW2901 - skips to the column's name
        # The columns of a partition have their types from the table.
        is_typed = tokens[at + 2].word != "default"
        if begins and is_typed and tokens[at + 1].kind == tokens[at + 2].kind == "name":
            yield from _type(tokens[at + 2], tokens[at + 3])
        if token.word in {"as", "select"}:
            is_made = False
