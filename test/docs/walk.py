"""walk.py [--write] PAGE.md...: walks the commands of documents as a reader would, from a clean clone.

Each page has a folder of its own, with the repository's files as git knows them and build/weir that of the variable
WEIR (else this tree's). Its ```sh blocks run there in their order (```bash ones are left out: they install something,
need what not every machine has, or never end). A command that fails is a failure of the page. What stands in a ```text
block right behind one is held to be what it printed; a line of it that is "..." stands for any lines. --write puts what
was printed in place of what differs, and leaves out again what "..." left out, where all but numbers is as it was.
"""

import difflib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
block = re.compile(r"^```sh\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", re.M | re.S)


def told(line):
    """A line without what differs from machine to machine."""
    return re.sub(r"about [\d.]+ m?s on \d+ cores?", "about T", line.rstrip()) if "estimated time" in line else line.rstrip()


def pattern_of(expected, form):
    """The pattern of documented lines, each first brought into a form; a group is what a "..." stands for."""
    return "".join(
        r"((?:.*\n)*?)" if line.strip() == "..." else re.escape(form(line)) + "\n" for line in expected.splitlines())


def matches(expected, printed):
    return re.fullmatch(pattern_of(expected, told), "".join(told(line) + "\n" for line in printed.splitlines())) is not None


def numberless(line):
    return re.sub(r"\s+", " ", re.sub(r"[-+]?[\d.,]*\d(e[-+]\d+)?", "0", told(line)))


def shortened(expected, printed):
    """What was printed, with "..." where the documented lines have it, if the two differ in numbers alone."""
    lines = [line.rstrip() for line in printed.splitlines()]
    found = re.fullmatch(pattern_of(expected, numberless), "".join(numberless(line) + "\n" for line in lines))
    if found:
        left_out, kept = iter(found.groups()), []
        for line in expected.splitlines():
            if line.strip() == "...":
                kept.append(line)
                lines = lines[next(left_out).count("\n"):]
            else:
                kept.append(lines.pop(0))
        lines = kept
    return "".join(line + "\n" for line in lines)


def files():
    """Those that git names; all where there is no git, as in an archive of the sources."""
    named = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    if named.returncode == 0:
        return filter(None, named.stdout.split("\0"))
    inside = [entry for entry in root.iterdir() if not entry.name.startswith((".git", "build", "out"))]
    return [str(path.relative_to(root)) for entry in inside for path in ([entry] if entry.is_file() else entry.rglob("*"))]


def clone(folder):
    for name in files():
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    program = Path(os.environ.get("WEIR", root / "build/weir")).resolve()
    (folder / "build").mkdir()
    for built in (program, program.with_name("weir_mpi")):
        (folder / "build" / built.name).symlink_to(built)


def run(commands, folder):
    # Lines of stdout and stderr in the order in which they were printed, as on a terminal. mpirun refuses root, whom
    # containers run as, and more ranks than cores.
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    ended = subprocess.run(
        ["stdbuf", "-oL", "bash", "-eu", "-c", commands], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **more}, text=True, check=False)
    return ended.returncode, ended.stdout


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def walk(page, write):
    text = page.read_text(encoding="utf-8")
    failures, walked, end, pieces = 0, 0, 0, []
    before = cpu_seconds()
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
                pieces += [text[end:found.start(2)], shortened(expected, printed)]
                end = found.end(2)
    if write and pieces:
        page.write_text("".join(pieces) + text[end:], encoding="utf-8")
    print(f"{page}: {walked} blocks of commands walked in {cpu_seconds() - before:.1f} CPU s" +
          (f", {failures} failed" if failures else ""), flush=True)
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
