"""Reports of recordings of every shape: JSON against the schema by a real validator, units of
every number, lines no wider than 80 columns, one model in every face."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

OPTIONS = None
UNIT = re.compile(
    r"_(s|ms|us|ns|bytes|mb|gb|ratio|percent|count|fps|bps|hz|mhz|w|j|wh|c|per_s|gb_per_s|flops|tflops|px|index|cost|value|id|error)$"
)
WORDS = set("count bytes frames blocks steps events zones fps bps index pid tid rank depth per_second line".split())
# the user's own names, and reasons with their counts: no rule reaches there
FREE = {"tags", "attributes", "facts", "settings", "timeline", "drop_reasons"}


def numbers(value, key=None, path="$"):
    """Every number with the key it stands under; lists pass their key on."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, (int, float)):
        yield key, path
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from numbers(item, key, f"{path}[{i}]")
    else:
        for name, item in value.items():
            if name in FREE and not (name == "timeline" and path.startswith("$.memory")):
                continue
            yield from numbers(item, name, f"{path}.{name}")


def nulls(value, path="$"):
    if value is None:
        yield path
    elif isinstance(value, list):
        for item in value:
            yield from nulls(item, path + "[]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from nulls(item, f"{path}.{name}")


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([OPTIONS.make, cls.folder.name], check=True)
        cls.names = sorted(p.stem for p in pathlib.Path(cls.folder.name).glob("*.strobe"))
        cls.schema = json.loads((pathlib.Path(OPTIONS.source) / "docs/report.schema.json").read_text())
        cls.reports = {name: json.loads(cls.strobe(name, "--format", "json")) for name in cls.names}
        for name in ("stagelog-before.txt", "stagelog-after.txt", "kineto-h200.json.gz"):
            cls.reports[name] = json.loads(cls.strobe(str(pathlib.Path(OPTIONS.source) / "tests/data" / name), "--format", "json"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def strobe(cls, name, *options):
        command = [OPTIONS.strobe, "report", name if "/" in name else f"{cls.folder.name}/{name}.strobe", *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def test_every_report_follows_the_schema(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)
        validator = jsonschema.Draft202012Validator(self.schema)
        for name, report in self.reports.items():
            with self.subTest(recording=name):
                wrong = [f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(report)]
                self.assertEqual(wrong, [])

    def test_the_schema_can_fail(self):
        validator = jsonschema.Draft202012Validator(self.schema)
        broken = json.loads(json.dumps(self.reports["rich"]))
        broken["summary"]["speed"] = 3
        self.assertFalse(validator.is_valid(broken), "a number without a unit passed")
        broken = json.loads(json.dumps(self.reports["rich"]))
        del broken["stage_analysis"]["unattributed_s"]
        self.assertFalse(validator.is_valid(broken), "a missing key passed")

    def test_a_report_and_its_recording_hold_the_same(self):
        """Written and read by the same table: a diff of the two finds nothing."""
        for name in ("rich", "blocks", "only_samples"):
            path = pathlib.Path(self.folder.name) / f"{name}.json"
            path.write_text(json.dumps(self.reports[name]))
            diff = self.command("diff", f"{self.folder.name}/{name}.strobe", path, "--format", "json")
            self.assertEqual(diff["total"]["delta_value"], 0, name)
            changed = [s["name"] for s in diff["stages"] if s["verdict"] != "same" or s.get("delta_s", 0) != 0]
            self.assertEqual(changed, [], name)
            changed = [m for m in diff["metrics"] if m["verdict"] != "same"]
            self.assertEqual(changed, [], name)
            self.assertEqual(diff["configuration"], [], name)

    def test_every_other_form_follows_its_schema(self):
        ranks = pathlib.Path(self.folder.name) / "ranks"
        for folder, count, straggler in (("four", 4, 2), ("two", 2, -1)):
            (ranks / folder).mkdir(parents=True)
            subprocess.run([OPTIONS.ranks, ranks / folder, str(count), "2000", str(straggler), "2", "3"], check=True)
        data = pathlib.Path(OPTIONS.source) / "tests/data"
        run = lambda name: f"{self.folder.name}/{name}.strobe"
        rank = lambda n: ranks / f"four/rank_{n}"
        for words in ["start", "stagelog-before.txt"], ["add", "stagelog-after.txt", "a step"]:
            subprocess.run([OPTIONS.strobe, "journal", words[0], data / words[1], *words[2:]], check=True, capture_output=True, cwd=self.folder.name)
        forms = [
            ("journal", ["journal", "show"]),
            ("diff", ["diff", data / "stagelog-before.txt", data / "stagelog-after.txt"]),
            ("diff", ["diff", run("rich"), run("blocks")]),
            ("diff", ["diff", "--fail-above", "5%", run("rich"), run("only_zones")]),
            ("diff", ["diff", rank(0), rank(2)]),
            ("aggregate", ["aggregate", ranks / "four"]),
            ("aggregate", ["aggregate", ranks / "four", ranks / "two"]),
            ("whatif", ["whatif", data / "stagelog-before.txt", "3b.iters=8"]),
            ("fit", ["fit", run("rich"), "--frames", "65"]),
            ("bench", ["bench", "--iterations", "3", "--warmup", "0", "--", "true"]),
            ("bench", ["bench", "--iterations", "2", "--warmup", "0", "--frames", "8", "--target-fps", "3", "--sweep", "n=1,2", "--", "false", "{n}"]),
        ]
        for name, command in forms:
            schema = json.loads((pathlib.Path(OPTIONS.source) / f"docs/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            printed = self.command(command[0], "--format", "json", *command[1:])
            with self.subTest(command=command):
                self.assertEqual([f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(printed)], [])
                printed["speed"] = 3
                self.assertFalse(validator.is_valid(printed), "a key that no table has passed")

    def test_the_doctor_and_the_memory_log_follow_their_schemas(self):
        out = pathlib.Path(self.folder.name) / "all"
        subprocess.run([OPTIONS.strobe, "report", "--format", "all", "-o", out, f"{self.folder.name}/rich.strobe"], check=True, capture_output=True)
        log = json.loads((out / "memory_log.json").read_text())
        self.assertTrue(log["snapshots"])
        for name, printed in [("memory_log", log), ("doctor", self.command("doctor", "--json"))]:
            schema = json.loads((pathlib.Path(OPTIONS.source) / f"docs/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            with self.subTest(name):
                self.assertEqual([e.message[:200] for e in jsonschema.Draft202012Validator(schema).iter_errors(printed)], [])

    def test_every_json_file_of_a_run_folder_follows_a_schema(self):
        runs = pathlib.Path(self.folder.name) / "json"
        subprocess.run([OPTIONS.strobe, "run", "-q", "--save-raw-data", "--output", "clip.raw", "-o", runs, "--",
                        "sh", "-c", "echo frames > clip.raw"], check=True, capture_output=True, cwd=self.folder.name)
        found = {p.name: json.loads(p.read_text()) for p in (runs / "last").glob("*.json")}
        self.assertGreaterEqual(set(found), {"profiling_report.json", "raw_profiling_data.json", "outputs.json"})
        for file, written in found.items():
            name = {"profiling_report": "report"}.get(file[:-5], file[:-5])
            schema = json.loads((pathlib.Path(OPTIONS.source) / f"docs/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            with self.subTest(file):
                self.assertEqual([f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(written)], [])
                self.assertFalse(validator.is_valid({**written, "speed": 3}), "a key that the schema lacks passed")

    def test_the_history_follows_its_schemas(self):
        db = pathlib.Path(self.folder.name) / "history.db"
        added = subprocess.run([OPTIONS.strobe, "history", "add", "--db", db, f"{self.folder.name}/rich.strobe"], capture_output=True, text=True)
        if "built without SQLite" in added.stderr:
            self.skipTest("this build has no history")
        for name, words, runs in [("history_list", ["list"], lambda j: j), ("history_trend", ["trend", "wall_s"], lambda j: j["points"])]:
            printed = self.command("history", *words, "--format", "json", "--db", db)
            schema = json.loads((pathlib.Path(OPTIONS.source) / f"docs/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            with self.subTest(name):
                self.assertEqual([e.message[:200] for e in validator.iter_errors(printed)], [])
                self.assertEqual(len(runs(printed)), 1)
                runs(printed)[0]["speed"] = 3
                self.assertFalse(validator.is_valid(printed), "a key that no table has passed")

    @classmethod
    def command(cls, *words):
        done = subprocess.run([OPTIONS.strobe, *map(str, words)], capture_output=True, text=True, cwd=cls.folder.name)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr}") from None

    def test_every_number_has_its_unit(self):
        for name, report in self.reports.items():
            found = list(numbers(report))
            self.assertTrue(found)
            bad = sorted({path for key, path in found if not (UNIT.search(key or "") or key in WORDS)})
            self.assertEqual(bad, [], name)

    def test_absent_is_absent_not_null(self):
        for name, report in self.reports.items():
            bad = [p for p in nulls(report) if not p.endswith("[]")]
            self.assertEqual(bad, [], name)

    def test_fixed_keys_and_their_values(self):
        rich = self.reports["rich"]
        for section in ("session_info system summary stage_analysis iterations memory gpu_metrics cpu_metrics disk_metrics "
                        "diffusion_analysis model_analysis streaming_analysis cache_analysis events recommendations recording "
                        "not_recorded generations verdict").split():
            self.assertIn(section, rich)
        self.assertEqual(rich["diffusion_analysis"]["steps"], 50)
        self.assertEqual(rich["diffusion_analysis"]["frames"], 81)
        self.assertEqual(rich["diffusion_analysis"]["latent_frames_count"], 21)
        self.assertEqual(rich["session_info"]["tags"]["seed"], 42)
        self.assertEqual(rich["model_analysis"]["models"][1]["parameters"], "1.3B")
        self.assertEqual(rich["cache_analysis"]["caches"][0]["hit_ratio"], 0.25)
        self.assertAlmostEqual(rich["streaming_analysis"]["dropped_ratio"], 0.1)
        blocks = self.reports["blocks"]
        for section in ("diffusion_analysis", "block_analysis"):
            self.assertAlmostEqual(blocks[section]["fps"], 12)
            self.assertAlmostEqual(blocks[section]["bps"], 4)
            self.assertEqual(blocks[section]["frames"], 30)
            self.assertEqual(blocks[section]["blocks"], 10)
            self.assertEqual(blocks[section]["steps"], 40)
        for rule in rich["recommendations"]:
            for key in ("id", "category", "priority", "issue", "suggestion", "evidence"):
                self.assertTrue(rule[key])

    def test_top_level_stages_fill_the_wall_time(self):
        """Whatever thread they are on: what ran at the same time is the overlap."""
        for name, report in self.reports.items():
            analysis = report["stage_analysis"]
            tops = [s for s in analysis["stages"] if "parent" not in s and "total_s" in s]
            total = sum(s["wall_ratio"] for s in tops) * analysis["wall_s"] + analysis["unattributed_s"]
            with self.subTest(name):
                self.assertAlmostEqual(total - analysis.get("overlap_s", 0), analysis["wall_s"], delta=2e-6 * analysis["wall_s"] + 1e-9)

    def test_a_stage_log_shows_what_its_labels_leave_out(self):
        stages = {s.get("code", s["name"]): s for s in self.reports["stagelog-before.txt"]["stage_analysis"]["stages"]}
        self.assertAlmostEqual(stages["ProPainter"]["total_s"], 52.34)
        self.assertAlmostEqual(stages["ProPainter"]["self_s"], 26.44)
        self.assertEqual(self.reports["stagelog-before.txt"]["stage_analysis"]["bottlenecks"][0],
                         "UNet+BrushNet+VAE pipeline")
        self.assertEqual(stages["4e"]["state"], "skipped")
        after = {s.get("code", s["name"]): s for s in self.reports["stagelog-after.txt"]["stage_analysis"]["stages"]}
        self.assertEqual(after["4d"]["state"], "untimed")

    def test_sections_without_data_are_absent(self):
        for section in ("memory", "gpu_metrics", "cpu_metrics", "disk_metrics", "diffusion_analysis", "block_analysis",
                        "model_analysis", "streaming_analysis", "cache_analysis"):
            self.assertNotIn(section, self.reports["only_zones"])
            self.assertNotIn(section, self.reports["empty"])
        self.assertIn("gpu_metrics", self.reports["only_samples"])
        self.assertNotIn("diffusion_analysis", self.reports["only_samples"])

    def test_series_have_columns_of_one_length_and_keep_peaks(self):
        series = self.reports["rich"]["gpu_metrics"]["devices"][0]["series"]
        self.assertEqual(len({len(column) for column in series.values()}), 1)
        self.assertAlmostEqual(max(series["memory_used_mb"]),
                               self.reports["rich"]["gpu_metrics"]["devices"][0]["memory_used_max_mb"], 3)

    def test_text_fits_eighty_columns(self):
        for name in self.names:
            text = self.strobe(name, "--columns", "80")
            # marks at the end of a row may stick out: everything else fits
            lines = [re.sub(r"( open)?(  <- BOTTLENECK)?$", "", line) for line in text.splitlines()]
            wide = [line for line in lines if len(line) > 80]
            self.assertEqual(wide, [], name)
            self.assertNotIn("\x1b", text)

    def test_every_export_is_text_whatever_the_names_are(self):
        for name in self.names:
            for form in ("chrome", "csv"):
                run = pathlib.Path(self.folder.name) / f"{name}.strobe"
                done = subprocess.run([OPTIONS.strobe, "export", run, "--to", form, "-o", "-"], capture_output=True, check=True)
                done.stdout.decode()  # names that are not UTF-8 are in there

    def test_the_split_adds_up_to_the_generations(self):
        rich = self.reports["rich"]
        total = sum(part["self_s"] for part in rich["diffusion_analysis"]["split"])
        self.assertAlmostEqual(total, rich["summary"]["generation_s"], 6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--strobe", required=True)
    parser.add_argument("--make", required=True)
    parser.add_argument("--ranks", required=True)
    parser.add_argument("--source", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
