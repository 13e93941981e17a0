"""The reader of the pages' blocks."""

from __future__ import annotations

import pytest

from tests.docs.blocks import blocks_in, commands_of, matches

PAGE = """# Title

```python raises=ValueError
int("x")
```

- item

  ```text output
  invalid
  ```

````markdown
```python
```
````

```console exit=2
$ pasps run a.py
one
two
$ pasps nonsense
```
"""


def test_blocks_have_their_language_options_and_line() -> None:
    python, output, markdown, console = blocks_in(PAGE, "page.md")
    assert (python.language, python.options, python.line, python.text) == ("python", {"raises": "ValueError"}, 4, 'int("x")\n')
    assert (output.flags, output.text) == (frozenset({"output"}), "invalid\n")
    assert markdown.text == "```python\n```\n"
    assert console.options == {"exit": "2"}


def test_commands_have_what_follows_them_as_output() -> None:
    first, second = commands_of(blocks_in(PAGE, "page.md")[-1])
    assert (first.words, first.output) == ("pasps run a.py", "one\ntwo")
    assert (second.words, second.output) == ("pasps nonsense", "")


def test_an_open_fence_is_an_error() -> None:
    with pytest.raises(ValueError, match="never closed"):
        blocks_in("```python\n1\n", "page.md")


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [("a\nb", "a  \nb\n", True), ("a...c", "a b\nc", True), ("a.c", "abc", False), ("a", "a\nb", False), ("...b", "a\nb", True)],
)
def test_dots_stand_for_anything(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same
