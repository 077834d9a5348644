"""Weir's results as pandas data frames, and Weir as a function.

    import weir
    run = weir.read("out/quickstart")               # a folder that `weir run` wrote
    run.summary["mean_ttft_ms"], run.requests.ttft_ms.quantile(0.99)
    sweep = weir.read_sweep("out/layouts")          # a row a point: tensor, pipeline, rate_per_s, ...
    run = weir.run("scenarios/quickstart.json", set={"/workload/arrivals/rate_per_s": 12})

Times are seconds where a name ends in _s and milliseconds where it ends in _ms, as in Weir's files, whose names
the columns have. Needs pandas, and the program `weir`: that of the variable WEIR, else of the folder that this
file was installed with, else of PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence, Union

import pandas

__all__ = ["Error", "Run", "read", "read_sweep", "run", "short_names", "sweep"]

PathLike = Union[str, "os.PathLike[str]"]
Scenario = Union[Mapping[str, Any], PathLike]


class Error(Exception):
    """Weir ended without results: its message has every problem of the input, a line each.

    `code` is the program's exit code (2: bad input), `problems` are the lines, each with file and JSON pointer.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code
        self.problems: list[str] = message.splitlines()


@dataclass
class Run:
    """The results of one run. A file that it did not write is None: of training, there are no requests."""

    folder: Path
    summary: dict[str, Any]  #: summary.json; latencies in ms, throughputs a second; "scenario" is the whole input
    #: A row a request, n_requests x 13: arrival_s, input_tokens, output_tokens, ttft_ms, tpot_ms, e2el_ms, status, ...
    requests: pandas.DataFrame | None = None
    #: A row a sampling period: time_s (its end), running, waiting, kv_blocks_used, output_tokens_per_s, utilisations 0..1
    timeseries: pandas.DataFrame | None = None
    sessions: pandas.DataFrame | None = None  #: a row a request: its session and turn
    prompts: pandas.DataFrame | None = None  #: a row a request: tokens computed, found, loaded from tiers
    training_steps: pandas.DataFrame | None = None  #: a row a step of each job
    messages: list[str] = field(default_factory=list)  #: of weir.run(): the program's notes

    def __repr__(self) -> str:
        number = "no" if self.requests is None else len(self.requests)
        return f"weir.Run({str(self.folder)!r}, {number} requests)"

    @property
    def devices(self) -> pandas.DataFrame | None:
        """A row a stage of a replica: kind, devices, busy_s, utilisation (0..1), memory_gb_per_s, energy_j, ..."""
        if "devices" not in self.summary:
            return None
        plain = [{k: v for k, v in one.items() if not isinstance(v, (dict, list))} for one in self.summary["devices"]]
        return pandas.DataFrame(plain)

    @property
    def metrics(self) -> pandas.Series:
        """The summary's numbers by their names, those of objects in it as "cost.dollars" and so on."""
        return pandas.Series(_numbers({k: v for k, v in self.summary.items() if k != "scenario"}))


def read(folder: PathLike) -> Run:
    """The results of `weir run` in a folder."""
    folder = Path(folder)
    if (folder / "results.csv").exists():
        raise Error(f"{folder}: these are a sweep's results: weir.read_sweep")
    if not (folder / "summary.json").exists():
        raise Error(f"{folder}: there is no summary.json: not the results of a run")
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise Error(f"{folder / 'summary.json'}: is cut off or damaged: {error}") from error
    if not isinstance(summary, dict):
        raise Error(f"{folder / 'summary.json'}: is cut off or damaged: no object")
    names = ("requests", "timeseries", "sessions", "prompts", "training_steps")
    result = Run(folder, summary, **{name: _table(folder / f"{name}.csv") for name in names})
    measured = sum(summary.get(key) or 0 for key in ("completed", "failed"))
    if result.requests is not None and len(result.requests) < measured:
        raise _cut_off(folder / "requests.csv", f"{len(result.requests)} of at least {measured} requests")
    return result


def read_sweep(folder: PathLike, *, short: bool = True) -> pandas.DataFrame:
    """The results of `weir sweep`: a row a point, in the sweep's order.

    Columns: what varied, `status` ("done", or why the point has no metrics, which then are NaN), and the metrics.
    With `short`, what varied is named by the last words of its JSON pointer that tell it from the others:
    /serving/replicas/0/parallelism/tensor is "tensor"; `.attrs["pointers"]` has the pointer of each.
    """
    file = Path(folder) / "results.csv"
    if not file.exists():
        raise Error(f"{folder}: there is no results.csv: not the results of a sweep")
    frame = _frame(file)
    stored = _stored_points(Path(folder) / "results.sqlite")
    if len(frame) < stored:
        raise _cut_off(file, f"{len(frame)} of {stored} points")
    pointers = [column for column in frame.columns if column.startswith("/")]
    names = short_names(pointers, taken=[c for c in frame.columns if not c.startswith("/")])
    frame.attrs["pointers"] = {name: pointer for pointer, name in names.items()}
    return frame.rename(columns=names) if short else frame


def run(
    scenario: Scenario,
    *,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    out: PathLike | None = None,
    arguments: Sequence[str] = (),
) -> Run:
    """Simulates a scenario, a dict or a file's path, and reads what came of it.

    `set` changes values by their JSON pointers before it runs: {"/serving/replicas/0/count": 2}. Relative paths in
    a dict are relative to the working directory. Results stay in `out` if it is given; else they are read and
    removed. `arguments` are further ones of `weir run` ("--timeline"). Raises Error, with all problems at once.
    A run in which not one request completed is no error: its summary says "completed": 0.
    """
    command = ["--set=" + pointer + "=" + json.dumps(value) for pointer, value in (set or {}).items()]
    if seed is not None:
        command.append(f"--seed={seed}")
    with tempfile.TemporaryDirectory(prefix="weir-") as scratch:
        place = Path(scratch) / "results" if out is None else Path(out)
        said = _weir("run", scenario, place, [*command, *arguments])
        result = read(place)
    result.messages = [line[6:] for line in said.splitlines() if line.startswith("note: ")]
    return result


def sweep(sweep: Scenario, *, out: PathLike | None = None, jobs: int | None = None) -> pandas.DataFrame:
    """Simulates every point of a sweep, a dict or a file's path; its results as read_sweep() gives them.

    Points that fail have their reason in `status` and raise nothing. A dict's relative paths are relative to the
    working directory.
    """
    with tempfile.TemporaryDirectory(prefix="weir-") as scratch:
        place = Path(scratch) / "results" if out is None else Path(out)
        _weir("sweep", sweep, place, [] if jobs is None else [f"--jobs={jobs}"])
        return read_sweep(place)


def short_names(pointers: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Of each JSON pointer its last words, as few as tell it from the others and from the names that are taken.

    Indices of lists count only where nothing else tells two apart.
    """
    words = {p: [w.replace("~1", "/").replace("~0", "~") for w in p.split("/")[1:]] for p in pointers}
    without = {p: [w for w in all_words if not w.isdigit()] or all_words for p, all_words in words.items()}
    if len({tuple(w) for w in without.values()}) == len(without):
        words = without
    longest = max((len(w) for w in words.values()), default=0)
    lengths = {p: 2 if w[-1] in _VAGUE else 1 for p, w in words.items()}
    names: dict[str, str] = {}
    for _ in range(longest + 1):
        for p, w in words.items():  # a name does not begin with an index
            while lengths[p] < len(w) and w[-lengths[p]].isdigit():
                lengths[p] += 1
        names = {p: "_".join(w[-lengths[p] :]) for p, w in words.items()}
        count = pandas.Series([*names.values(), *taken]).value_counts()
        if all(count[name] == 1 for name in names.values()):
            break
        lengths = {p: n + 1 if count[names[p]] > 1 else n for p, n in lengths.items()}
    return names


_VAGUE = {"count", "kind", "name", "file", "mean", "std", "max", "min", "input", "output", "tokens"}


def _table(file: Path) -> pandas.DataFrame | None:
    if not file.exists():
        return None
    return _frame(file, dtype={"request_id": str, "session_id": str})


def _frame(file: Path, **how: Any) -> pandas.DataFrame:
    """A CSV that Weir wrote: every line of it ends, and has all fields."""
    with open(file, "rb") as whole:
        if whole.seek(0, os.SEEK_END) > 0:
            whole.seek(-1, os.SEEK_END)
        if whole.read(1) != b"\n":
            raise _cut_off(file, "its last line does not end")
    try:
        return pandas.read_csv(file, **how)
    except (ValueError, pandas.errors.ParserError) as error:
        raise _cut_off(file, str(error)) from error


def _cut_off(file: Path, why: str) -> Error:
    return Error(f"{file}: is cut off or damaged: {why}")


def _stored_points(file: Path) -> int:
    """How many points of a sweep have ended; 0 where its database is not beside its table."""
    if not file.exists():
        return 0
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM points").fetchone()[0])
    except sqlite3.Error:
        return 0
    finally:
        connection.close()


def _numbers(tree: Mapping[str, Any], above: str = "") -> dict[str, float]:
    found: dict[str, float] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found.update(_numbers(value, f"{above}{key}."))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[above + key] = value
    return found


def _program() -> str:
    here = Path(__file__).resolve().parent
    installed, built = here / "../../../bin/weir", here / "../../../build/weir"
    given = os.environ.get("WEIR")
    for candidate in [given] if given else [installed, built, shutil.which("weir")]:
        if candidate and os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return os.path.realpath(candidate)
    raise Error("there is no weir on PATH; the environment variable WEIR may name the program" if not given
                else f"WEIR={given}: no program of that name", 1)


def _weir(command: str, what: Scenario, out: Path, arguments: Sequence[str]) -> str:
    text = None
    name = os.fspath(what) if isinstance(what, (str, os.PathLike)) else "-"
    if name == "-" and isinstance(what, Mapping):
        try:
            text = json.dumps(what, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Error(f"not a scenario that JSON can say: {error}") from error
    if command == "sweep" and text is not None:  # which reads files alone
        with tempfile.NamedTemporaryFile("w", dir=".", prefix=".weir-", suffix=".json", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            return _call([command, file.name, "--out", str(out), *arguments], None)
    return _call([command, name, "--out", str(out), *arguments], text)


def _call(arguments: list[str], text: str | None) -> str:
    ended = subprocess.run([_program(), *arguments], input=text or "", capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 3):
        lines = [line for line in ended.stderr.splitlines() if not line.startswith("note: ")]
        raise Error("\n".join(lines) or f"weir ended with {ended.returncode}", ended.returncode)
    return ended.stderr
