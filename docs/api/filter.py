#!/usr/bin/env python3
"""filter.py [--pages] HEADER: shows the comments of a public header to Doxygen.

Doxygen reads comments of its own form only. Ours are plain, and this is how they are taken:

  // text              about the declaration below; the next line shares it if it has none itself
  code;  // text       about the declaration itself
  // ---- title ----   begins a group; a comment right below it is about all of the group

"Context:", "Errors:" and "Throws" become headings. What the top of a C header says of all its
functions ("Context of all ...") is said of each of its groups; with --pages of each function, and the
group's text too, since a man page stands alone. There headings are marked for build.sh by "§".
"""
import pathlib
import re
import sys

PATH = pathlib.Path(sys.argv[-1])
PAGES = "--pages" in sys.argv[1:-1]
# In comments errors are named without their prefix.
ERROR = re.compile(r"\b(?:%s)\b" % "|".join(
    re.findall(r"\bWEFT_ERR_(\w+),", PATH.with_name("weft.h").read_text("utf-8"))))

COMMENT = re.compile(r"\s*//(.*)")
HEADING = re.compile(r"// ---- (.*?) -+$")
TRAILING = re.compile(r"(.*\S)\s*// (.*)")
SECTION = re.compile(r"(?:^| )(?=(Context|Errors|Throws)\b)"
                     r"(?:(?:Context|Errors)(?: of all[^:]*)?:|Throws(?: weft::error:)?) ")
# In what is said of the context: the sentence that says whether the function waits.
WAITS = re.compile(r"(?:^|[.;] )([^.;]*(?:[Bb]lock|[Ss]uspend|[Ww]ait)[^.]*\.)")


def paragraphs(lines):
    """Comment lines as paragraphs, without empty ones; an example's indented lines stay lines."""
    out = [""]
    for line in lines:
        if line.startswith("   "):
            out[-1] += "\n   " + line
        elif not line.strip():
            out.append("")
        else:
            out[-1] += (" " if out[-1] else "") + line.strip()
    return [paragraph for paragraph in out if paragraph]


class Doc:
    """A text and what stands under its headings."""

    def __init__(self, lines=()):
        self.text = []
        self.sections = {}
        for paragraph in paragraphs(lines):
            self.add(paragraph)

    def add(self, paragraph):
        if ERROR.match(paragraph):
            paragraph = "Errors: " + paragraph
        text, *sections = SECTION.split(paragraph)
        if text:
            self.text.append(text)
        for title, body in zip(sections[::2], sections[1::2]):
            self.under(title, body)

    def under(self, title, body):
        body = body.removesuffix(".") + "."
        while title == "Context" and (waits := WAITS.search(body)):
            self.under("Blocking", waits[1])
            body = body[: waits.start()] + "." + body[waits.end() :]
        if body != ".":
            self.sections.setdefault(title, []).append(body[0].upper() + body[1:])

    def join(self, general):
        """What is said of all functions; of the context only where nothing else is said of it."""
        self.text += general.text
        for title, bodies in general.sections.items():
            if title == "Errors" or "Context" not in self.sections:
                self.sections[title] = self.sections.get(title, []) + bodies

    def lines(self, indent=""):
        parts = list(self.text)
        for title in ("Context", "Blocking", "Errors", "Throws"):
            if title in self.sections:
                parts.append("@par %s%s\n%s" % ("§" * PAGES, title, " ".join(self.sections[title])))
        text = ERROR.sub(lambda m: "WEFT_ERR_" + m[0], "\n\n".join(parts))
        text = re.sub(r"`[^`]*`|<", lambda m: "\\<" if m[0] == "<" else m[0], text)  # no HTML in it
        return "".join("%s/// %s\n" % (indent, line) for line in text.split("\n"))


class Filter:
    def __init__(self):
        self.c = PATH.suffix == ".h"
        self.of_all = Doc()  # what the top of the file says of all functions
        self.group = ""
        self.group_doc = Doc()
        self.comment = []  # lines above what comes next
        self.shared = []  # those above the declaration on the line before
        self.statement = ""  # a declaration that goes on on the next line

    def head(self, lines):
        """The comment at the top: "name: brief", then text."""
        first, *rest = paragraphs(lines)
        self.of_all = Doc([p for p in rest if p.startswith("Context of all")])
        head = Doc()
        head.text = ["@file", "@brief " + re.sub(r"^\S+: ", "", first), *rest]
        return head.lines()

    def open_group(self, title):
        close = "/// @}\n" if self.group else ""
        self.group = title[0].upper() + title[1:]
        self.group_doc, self.comment = Doc(self.comment), []
        self.group_doc.join(self.of_all)
        words = re.sub(r"\(.*", "", title).split()
        doc = Doc()
        doc.text = ["@defgroup weft-%s %s" % ("-".join(words[:4]), self.group)]
        if not PAGES:
            doc.join(self.group_doc)
        return close + doc.lines() + "/// @{\n"

    def function(self, line, note):
        """A C function; one that nothing is said of has at least its group's title."""
        self.shared = self.comment or self.shared
        doc = Doc(self.shared)
        if not doc.text and self.group:
            name = re.search(r"weft_(\w+)\(", line)[1].split("_")
            if self.group.lower().startswith(name[0]):
                del name[0]
            doc.text = ["@brief %s: %s." % (self.group, " ".join(name))]
        if note:
            doc.add(note[0].upper() + note[1:])
        if PAGES:
            doc.join(self.group_doc)
        return doc.lines()

    def declaration(self, line, note):
        """Anything else: its comment above, and what stands beside it."""
        whole = not self.c and line.endswith((";", "}")) and line.strip() != "}"
        own = self.comment or (self.shared if whole else [])
        self.shared = own if whole else []
        indent = line[: len(line) - len(line.lstrip())]
        beside = "  " + Doc([note]).lines().replace("///", "///<", 1) if note else "\n"
        return (Doc(own).lines(indent) if own else "") + line + beside

    def code(self, line):
        note = ""
        if (match := TRAILING.fullmatch(line)) and not re.match(r"#(?!define)|}", line):
            line, note = match.groups()
        self.statement += line + "\n"
        if not (self.c and self.statement.startswith("WEFT_API")):
            out = self.declaration(line, note)
        elif line.endswith(";"):
            out = self.function(self.statement, note) + self.statement
        else:
            return ""
        self.statement, self.comment = "", []
        return out

    def run(self, lines):
        top = 0
        while lines[top].startswith("//"):
            top += 1
        yield self.head([line[2:] for line in lines[:top]])
        title = ""
        for line in lines[top:]:
            if heading := HEADING.fullmatch(line):
                title = heading[1]
            elif comment := COMMENT.fullmatch(line):
                self.comment.append(comment[1])
            else:
                if title:
                    yield self.open_group(title)
                    title = ""
                if line.strip():
                    yield self.code(line)
                else:
                    self.comment, self.shared = [], []
                    yield "\n"
        if self.group:
            yield "/// @}\n"


sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.writelines(Filter().run(PATH.read_text("utf-8").splitlines()))
