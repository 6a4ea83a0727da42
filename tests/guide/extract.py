#!/usr/bin/env python3
"""extract.py: takes the programs out of the documentation, so that what a page shows is what is tested.

    extract.py SOURCE_DIR OUT_DIR PAGE...     pages relative to SOURCE_DIR; writes OUT_DIR/snippets.cmake

In a page a fenced block says the name of its file behind its language:

    ```cpp file=first.cpp      C++, C, CMake or shell (cpp, c, cmake, sh)
    ```output                  what the file of the block before prints, to the letter

Several blocks of one name are parts of one file. Under docs/guide every block of those languages must have
a name. A page's files go to OUT_DIR/<page>/; a file that is unchanged is not written, and so not built again.
"""

import pathlib
import re
import sys

LANGUAGES = {"c": ".c", "cpp": ".cpp", "cmake": ".txt", "sh": ".sh"}
COMPILED = (".c", ".cpp")


class Mistake(Exception):
    """Something is wrong with a page; the message says where and what to do."""


def blocks(page, lines):
    """Yields (line number of the fence, info string, lines inside) of each fenced block."""
    start = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
        elif line.strip() == "```":
            yield start, lines[start - 1][3:].strip(), lines[start:number - 1]
            start = None
        else:
            raise Mistake(f"{page}:{number}: a block begins inside the one of line {start}: close that with ```")
    if start is not None:
        raise Mistake(f"{page}:{start}: this block is not closed: end it with ```")


def file_name(page, number, language, words):
    """The name of the block's file; None: it has none and needs none."""
    for word in words:
        match = re.fullmatch(r"file=([A-Za-z][\w-]*(\.\w+))", word)
        if not match:
            raise Mistake(f"{page}:{number}: '{word}' is not understood: write file=NAME{LANGUAGES[language]}")
        if match[2] != LANGUAGES[language]:
            raise Mistake(f"{page}:{number}: '{match[1]}' does not fit its language: a name that ends in "
                          f"{LANGUAGES[language]} is wanted")
        return match[1]
    if str(page).startswith("docs/guide/"):
        raise Mistake(f"{page}:{number}: a program without a name is not tested: write "
                      f"```{language} file=NAME{LANGUAGES[language]}")
    return None


def read_page(page, text):
    """The page's files and their outputs: two dictionaries from name to text."""
    files, outputs = {}, {}
    last = None
    for number, info, inside in blocks(page, text.splitlines()):
        language, *words = info.split() or [""]
        body = "".join(line + "\n" for line in inside)
        if language == "output":
            if last is None:
                raise Mistake(f"{page}:{number}: nothing before it that could print this: name a program first")
            if last in outputs:
                raise Mistake(f"{page}:{number}: {last} has an output already: one for each file")
            outputs[last] = body
        elif language in LANGUAGES:
            last = file_name(page, number, language, words)
            if last is not None:
                where = f'#line {number + 1} "{page}"\n' if last.endswith(COMPILED) else ""
                files[last] = files.get(last, "") + where + body
    return files, outputs


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def extract(source, out, page):
    """Writes the page's files; returns what CMake is told of it."""
    files, outputs = read_page(page, (source / page).read_text())
    folder = out / page.stem
    for name, text in files.items():
        write(folder / name, text)
        expected = folder / (name + ".expected")
        if name in outputs:
            write(expected, outputs[name])
        else:
            expected.unlink(missing_ok=True)
    command = {".c": "weft_guide_program", ".cpp": "weft_guide_program", ".sh": "weft_guide_script"}
    return [f"{command[pathlib.Path(name).suffix]}({page.stem} {name})" for name in files
            if pathlib.Path(name).suffix in command]


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    try:
        lines = [line for page in sys.argv[3:] for line in extract(source, out, pathlib.Path(page))]
    except Mistake as mistake:
        sys.exit(str(mistake))
    write(out / "snippets.cmake", "".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
