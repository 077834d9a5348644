"""weir.py against the real program. WEIR names it; exit code 77 (a skipped test) where there is no pandas."""

import csv
import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import pandas
except ImportError:
    print("skipped: no pandas here (Debian: apt-get install python3-pandas; make setup has it)")
    sys.exit(77)

root = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "sim/app/python"))
sys.dont_write_bytecode = True
import weir  # noqa: E402

small = {
    "model": "llama3.1-8b",
    "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "count": 2}], "interconnect": "nvlink4_switch"}]},
    "workload": {
        "requests": {"kind": "fixed", "input_tokens": 100, "output_tokens": 10, "count": 20},
        "arrivals": {"kind": "poisson", "rate_per_s": 10},
    },
}


class Reader(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder.name)

    def test_a_run_of_a_dict_is_what_its_files_say(self):
        run = weir.run(small, out="kept")
        self.assertEqual(run.summary["completed"], 20)
        self.assertEqual(len(run.requests), 20)
        with open("kept/requests.csv") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(run.requests.columns), list(rows[0]))
        self.assertEqual(list(run.requests.ttft_ms), [float(row["ttft_ms"]) for row in rows])
        self.assertAlmostEqual(run.requests.ttft_ms.mean(), run.summary["mean_ttft_ms"], places=5)
        self.assertGreater(len(run.timeseries), 0)
        self.assertIsNone(run.sessions)
        self.assertEqual(run.devices.kind[0], "h100_sxm")
        self.assertEqual(run.metrics["cost.dollars"], run.summary["cost"]["dollars"])
        again = weir.read("kept")
        pandas.testing.assert_frame_equal(again.requests, run.requests)

    def test_set_changes_a_value_and_nothing_stays_behind(self):
        run = weir.run(small, set={"/workload/requests/count": 7, "/name": "it's \"7\""}, seed=3)
        self.assertEqual((len(run.requests), run.summary["name"]), (7, "it's \"7\""))
        self.assertEqual(run.summary["scenario"]["seed"], 3)
        self.assertEqual(os.listdir("."), [])
        self.assertFalse(run.folder.exists())

    def test_a_file_runs_as_a_dict_does_and_notes_are_handed_on(self):
        quickstart = root / "scenarios/quickstart.json"
        run = weir.run(quickstart, set={"/workload/requests/count": 5})
        self.assertEqual(len(run.requests), 5)
        self.assertIn("sharegpt_history", run.messages[0])

    def test_every_problem_is_in_the_error(self):
        with self.assertRaises(weir.Error) as caught:
            weir.run({**small, "model": "llama", "seed": -1})
        self.assertEqual(caught.exception.code, 2)
        pointers = [problem.split(" ")[1] for problem in caught.exception.problems]
        self.assertEqual(sorted(pointers), ["/model:", "/seed:"])
        with self.assertRaisesRegex(weir.Error, "JSON"):
            weir.run({**small, "seed": float("nan")})
        with self.assertRaisesRegex(weir.Error, "nowhere.json"):
            weir.run("nowhere.json")

    def test_training_has_steps_and_no_requests(self):
        run = weir.run(root / "scenarios/hetero_pim/gpu.json")
        self.assertIsNone(run.requests)
        self.assertEqual(len(run.training_steps), 100)
        self.assertGreater(run.summary["training"][0]["steady_step_ms"], 0)
        self.assertIsNone(run.devices)

    def test_wrong_folders_are_told_apart(self):
        with self.assertRaisesRegex(weir.Error, "not the results of a run"):
            weir.read(".")
        with self.assertRaisesRegex(weir.Error, "not the results of a sweep"):
            weir.read_sweep(".")
        weir.sweep({"scenario": small, "vary": {"/seed": [1]}}, out="swept")
        with self.assertRaisesRegex(weir.Error, "read_sweep"):
            weir.read("swept")

    def test_half_a_file_is_no_result(self):
        weir.run(small, out="whole")
        for name in ("summary.json", "requests.csv", "timeseries.csv"):
            whole = Path("whole", name).read_bytes()
            ends = {len(whole) // 2, len(whole) - 2, 0}
            if name == "requests.csv":  # at the end of a line
                ends.add(whole.rindex(b"\n", 0, len(whole) - 1) + 1)
            for end in ends:
                Path("whole", name).write_bytes(whole[:end])
                with self.subTest(file=name, end=end), self.assertRaisesRegex(weir.Error, "cut off or damaged"):
                    weir.read("whole")
            Path("whole", name).write_bytes(whole)
        self.assertEqual(len(weir.read("whole").requests), 20)

    def test_half_a_table_of_a_sweep_is_no_result(self):
        weir.sweep({"scenario": small, "vary": {"/workload/requests/count": [1, 2, 3]}}, out="half")
        table = Path("half", "results.csv")
        whole = table.read_bytes()
        for end in (len(whole) // 2, len(whole) - 2, whole.rindex(b"\n", 0, len(whole) - 1) + 1, 0):
            table.write_bytes(whole[:end])
            with self.subTest(end=end), self.assertRaisesRegex(weir.Error, "cut off or damaged"):
                weir.read_sweep("half")

    def test_a_run_without_a_completed_request_is_a_result(self):
        run = weir.run(small, set={"/workload/requests/input_tokens": 10_000_000})
        self.assertEqual((run.summary["completed"], set(run.requests.status)), (0, {"rejected"}))

    def test_a_sweep_has_short_names_and_its_pointers(self):
        rates = "/workload/arrivals/rate_per_s"
        frame = weir.sweep({"scenario": small, "vary": {rates: [1, 2]}, "layouts": "all"}, jobs=1)
        varied = ["rate_per_s", "tensor", "pipeline", "replicas_count"]
        self.assertEqual(list(frame.columns[:4]), varied)
        self.assertEqual(frame.attrs["pointers"]["rate_per_s"], rates)
        self.assertEqual(set(frame.status), {"done"})
        self.assertEqual(len(frame.groupby(varied)), len(frame))
        self.assertEqual(os.listdir("."), [])

    def test_short_names_are_as_long_as_they_must_be(self):
        prefill, decode = ("/serving/replicas/%d/parallelism/tensor" % i for i in (0, 1))
        self.assertEqual(
            weir.short_names([prefill, decode]),
            {prefill: "replicas_0_parallelism_tensor", decode: "replicas_1_parallelism_tensor"},
        )
        self.assertEqual(weir.short_names(["/a/duration"], taken=["duration"]), {"/a/duration": "a_duration"})
        self.assertEqual(weir.short_names(["/a~1b/kind"]), {"/a~1b/kind": "a/b_kind"})
        self.assertEqual(weir.short_names(["/seed"]), {"/seed": "seed"})


if __name__ == "__main__":
    unittest.main()
