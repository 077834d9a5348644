"""notebook.py NOTEBOOK [--prefix DIR] [--write]: executes a notebook as Jupyter does, and holds its texts to those in it.

With the weir.py of this repository, or with what is installed under DIR and the program there.

Needs nbformat, nbclient and ipykernel (Debian: python3-nbclient python3-ipykernel). --write keeps what came out.
"""

import os
import sys
from pathlib import Path

import nbclient
import nbformat

root = Path(__file__).resolve().parents[2]


def texts(cell):
    return [output.get("text") or output.get("data", {}).get("text/plain") for output in cell.get("outputs", [])]


def main():
    file = Path(sys.argv[1]).resolve()
    if "--prefix" in sys.argv:
        prefix = Path(sys.argv[sys.argv.index("--prefix") + 1]).resolve()
        os.environ["PYTHONPATH"] = str(prefix / "lib/python3/dist-packages")
        os.environ.pop("WEIR", None)
    else:
        os.environ["PYTHONPATH"] = str(root / "sim/app/python")
    notebook = nbformat.read(file, as_version=4)
    before = [texts(cell) for cell in notebook.cells]
    os.environ["COLUMNS"] = "120"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()  # raises where a cell does
    if "--write" in sys.argv:
        for cell in notebook.cells:
            cell.get("metadata", {}).pop("execution", None)  # when it ran
        nbformat.write(notebook, file)
        return
    executed = [cell for cell in notebook.cells if cell.cell_type == "code"]
    differing = [i for i, cell in enumerate(notebook.cells) if texts(cell) != before[i]]
    for i in differing:
        print(f"cell {i} holds\n{before[i]}\nand gives\n{texts(notebook.cells[i])}")
    print(f"{file.name}: {len(executed)} cells executed, {len(differing)} with other output than it holds")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
