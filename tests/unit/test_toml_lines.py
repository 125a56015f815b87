"""Every key of a TOML text is found on its own line."""

from __future__ import annotations

import pytest
from tilewright.base.toml_lines import key_lines, line_of

TEXT = """\
name = "x" # a comment with [brackets] = "and quotes

[a.b]
list = [1, # one
  "two]", { deep = 3,
  other = 4 }]
text = '''
[not.a.header]
'''
"quoted key" = \"\"\"
x = 1
\"\"\"
dotted . key = true

[[row]]
n = 1
[[row]]
n = 2.5e3
inner = { k = "}", m = [[1], [2]] }
[[row.leaf]]
z = 1979-05-27 07:32:00
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 1),
        (("a", "b"), 3),
        (("a", "b", "list"), 4),
        (("a", "b", "list", 1), 5),
        (("a", "b", "list", 2, "deep"), 5),
        (("a", "b", "list", 2, "other"), 6),
        (("a", "b", "text"), 7),
        (("a", "b", "quoted key"), 10),
        (("a", "b", "dotted", "key"), 13),
        (("row", 0, "n"), 16),
        (("row", 1), 17),
        (("row", 1, "n"), 18),
        (("row", 1, "inner", "m"), 19),
        (("row", 1, "leaf", 0), 20),
        (("row", 1, "leaf", 0, "z"), 21),
    ],
)
def test_line_of_key(path: tuple[str | int, ...], line: int) -> None:
    assert key_lines(TEXT)[path] == line


def test_missing_key_has_the_line_of_its_table() -> None:
    assert line_of(key_lines(TEXT), ("row", 1, "missing", "deeper")) == 17
    assert line_of(key_lines(TEXT), ("nowhere",)) == 1


def test_text_inside_strings_is_no_key() -> None:
    assert ("not", "a", "header") not in key_lines(TEXT)
    assert ("a", "b", "x") not in key_lines(TEXT)
