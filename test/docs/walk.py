"""walk.py [--write] PAGE.md...: walks the commands of documents as a reader would, from a clean clone.

Each page has a folder of its own, in which the repository's files are and build/weir is that of the variable WEIR. Its
```sh blocks run there in their order (```bash ones are left out: they install something, or take long). A command
that fails is a failure of the page. What stands in a ```text block right behind one is held to be what it printed;
a line of it that is "..." stands for any lines. --write puts what was printed in place of what differs.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
block = re.compile(r"^```sh\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", re.M | re.S)


def told(line):
    """A line without what differs from machine to machine."""
    return re.sub(r"about [\d.]+ m?s on \d+ cores?", "about T", line.rstrip()) if "estimated time" in line else line.rstrip()


def matches(expected, printed):
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(told(line)) + "\n" for line in expected.splitlines())
    return re.fullmatch(pattern, "".join(told(line) + "\n" for line in printed.splitlines())) is not None


def clone(folder):
    for entry in root.iterdir():
        if entry.name not in ("build", "out", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build/weir").symlink_to(os.environ.get("WEIR", root / "build/weir"))


def run(commands, folder):
    # Lines of stdout and stderr in the order in which they were printed, as on a terminal.
    ended = subprocess.run(
        ["stdbuf", "-oL", "bash", "-eu", "-c", commands], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False)
    return ended.returncode, ended.stdout


def walk(page, write):
    text = page.read_text(encoding="utf-8")
    failures, walked, end, pieces = 0, 0, 0, []
    with tempfile.TemporaryDirectory(prefix="weir-walk-") as scratch:
        clone(Path(scratch))
        for found in block.finditer(text):
            commands, expected = found[1], found[2]
            code, printed = run(commands, scratch)
            walked += 1
            at = f"{page}:{text.count(chr(10), 0, found.start()) + 1}"
            if code != 0:
                failures += 1
                print(f"{at}: exit code {code} of:\n{commands}{printed}")
            elif expected is not None and not matches(expected, printed):
                if not write:
                    failures += 1
                    print(f"{at}: prints something else:\n{commands}")
                    print("\n".join(difflib.unified_diff(
                        expected.splitlines(), printed.splitlines(), "as documented", "as printed", lineterm="")))
                pieces += [text[end:found.start(2)], "".join(line.rstrip() + "\n" for line in printed.splitlines())]
                end = found.end(2)
    if write and pieces:
        page.write_text("".join(pieces) + text[end:], encoding="utf-8")
    print(f"{page.name}: {walked} blocks of commands walked" + (f", {failures} failed" if failures else ""))
    return failures + (walked == 0)


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    if subprocess.run(["/usr/bin/python3", "-c", "import pandas"], capture_output=True, check=False).returncode != 0:
        print("skipped: /usr/bin/python3 has no pandas, which pages use (Debian: apt-get install python3-pandas)")
        sys.exit(77)
    pages = [Path(a) for a in arguments if a != "--write"]
    sys.exit(1 if sum(walk(page, write) for page in pages) or not pages else 0)


if __name__ == "__main__":
    main()
