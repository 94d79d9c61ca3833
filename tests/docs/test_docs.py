"""Every command and code block of README.md and docs/*.md runs.

A block is a fence or four blanks of indent. What it is shows in its first words: commands (`$ ` before
them where their output follows, which is compared with numbers masked and `…` for anything), Python, YAML
of a configuration, C. A comment on the line before says what does not show, or who runs what cannot run
here:
    <!-- block: c -->  <!-- block: log -->        C statements; a log with stage lines, given to `report`
    <!-- block: by run/test_doctor -->            that test runs it, or checks what it shows
    <!-- block: layout -->                        the bytes of a file, no code
A fence of `diff` is followed by walk/report, on a copy of the tree.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")), *sorted((SOURCE / "docs/guides").glob("*.md"))]
MARK = re.compile(r"<!-- block: (.*?) -->")
FOREIGN = ("STROBE_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM", "OMPI", "PMI", "COLUMNS", "XDG_", "MAKE", "MFLAGS")
NAMES = {"RUN": "last", "DIR": "job", "BASE": "base", "NEW": "new", "METRIC": "fps", "FILE": "log.txt", **dict.fromkeys(("A1", "A2", "A3"), "base"), **dict.fromkeys(("B1", "B2", "B3"), "new")}
COMMANDS = ("strobe", "make", "cc", "head", "python3", "$")

SCRIPTS = {
    "wan_t2v.py": "import strobe\nfor _ in strobe.steps(range(3)):\n    pass\nstrobe.frames(16)\n",
    "wan.py": "print('a video')\n",
    "gen.py": "print('made')\n",
    "generate_many.py": "import strobe\nfor _ in range(5):\n    with strobe.generation(frames=16):\n        pass\n",
    "mypkg/__init__.py": "", "mypkg/vae.py": "class VAE:\n    def encode(self):\n        pass\n",
    "wan/__init__.py": "", "wan/vae.py": "class VAE:\n    def decode(self):\n        pass\n",
}
PYTHON = """
import types as _types
import strobe
prompt, latents, timesteps, loader = "a cat", None, range(3), range(2)
encode = lambda prompt: None
step = lambda latents, t: None
vae = _types.SimpleNamespace(decode=lambda latents: [0] * 81)
"""
C = """%s
static void encode(int count) { (void)count; }
static void launch_everything(void *on) { (void)on; }
int main(void)
{
	int frames = 81;
	void *stream = NULL;
	(void)encode, (void)launch_everything, (void)frames, (void)stream;
%s
	return 0;
}
"""


class Block:
    def __init__(self, page, line, mark, language, lines):
        self.mark, self.language, self.lines = mark, language, lines
        self.name = f"{page.name}:{line}"
        self.text = "\n".join(lines) + "\n"

    def kind(self):
        first = next(line for line in self.lines if line.strip())
        if self.mark:
            return self.mark.split()[0]
        if self.language:
            return {"sh": "commands", "console": "commands", "diff": "by"}.get(self.language, self.language)
        if first.split()[0] in COMMANDS:
            return "commands"
        if re.match(r"(import|from|with|for|print)\b", first):
            return "python"
        return "yaml" if first.startswith("profiling:") else None


def blocks_of(page):
    lines, i, found = page.read_text().split("\n"), 0, []

    def before(at):
        said = next((line for line in reversed(lines[:at]) if line.strip()), "")
        mark = MARK.search(said)
        return mark.group(1) if mark else None

    while i < len(lines):
        fence = re.match(r"```(\w*)", lines[i])
        if fence:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
            found.append(Block(page, i + 1, before(i), fence.group(1), lines[i + 1:end]))
            i = end + 1
        elif lines[i].startswith("    ") and not lines[i - 1].strip():
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            while not lines[end - 1].strip():
                end -= 1
            found.append(Block(page, i + 1, before(i), "", [line[4:] for line in lines[i:end]]))
            i = end
        else:
            i += 1
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


@pytest.fixture(scope="session")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("material")
    made = folder / "made"
    made.mkdir()
    subprocess.run([BUILD / "tests" / "make_recordings", made], check=True)
    for run in ("strobe-runs/wan_t2v-20260101-120000-4242", "strobe-runs/wan_t2v-20260102-120000-4242", "base", "new"):
        (folder / run).mkdir(parents=True)
        shutil.copy(made / "rich.strobe", folder / run / "run.strobe")
    for job in (folder / "job", folder / "strobe-runs/job-42"):
        subprocess.run([BUILD / "tests" / "make_ranks", job, "4", "80"], check=True)
    os.utime(folder / "strobe-runs/job-42", (1, 1))  # a single run is the last one
    shutil.copy(SOURCE / "tests/data/kineto-h200.json.gz", folder / "trace.json.gz")
    shutil.copy(SOURCE / "tests/data/stagelog-before.txt", folder / "log.txt")
    shutil.copy(SOURCE / "tests/data/stagelog-before.txt", folder / "baseline.log")
    shutil.copy(SOURCE / "tests/data/stagelog-after.txt", folder / "opt6.log")
    for name, value in (("clip.y4m", 100), ("other.y4m", 103)):
        (folder / name).write_bytes(b"YUV4MPEG2 W16 H16 F8:1 Cmono\n" + (b"FRAME\n" + bytes([value] * 256)) * 4)
    shutil.copytree(SOURCE / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "profiling.yaml").write_text("profiling:\n  display_interval: 2\n")
    (folder / "pipeline.c").write_text(C % ("#include <strobe.h>", "\tstrobe_start(NULL);\n\tstrobe_stop();"))
    for name, text in SCRIPTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "pipeline").symlink_to(BUILD / "tests" / "marked")
    return folder


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def shell(material, prefix, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(material, home, symlinks=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python").symlink_to("/usr/bin/python3")
    (tools / "strobe").symlink_to(BUILD / "strobe")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    kept.update(HOME=str(home), TMPDIR=str(home), TZ="UTC", LC_ALL="C.UTF-8", NO_COLOR="1", STROBE_HISTORY=str(home / "history.db"), EXAMPLE_SCALE="0.02",
                PATH=f"{tools}:/usr/local/bin:/usr/bin:/bin", PYTHONPATH=str(BUILD / "python"), LD_LIBRARY_PATH=str(prefix / "lib"),
                PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))

    def run(line, codes=(0,)):
        done = subprocess.run(["/bin/sh", "-c", line], cwd=home, env=kept, stdin=subprocess.DEVNULL, timeout=200,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode in codes, f"{line}\nexit {done.returncode}\n{done.stdout[-3000:]}"
        return done.stdout

    run.home, run.environment = home, kept
    run("strobe history add base new")
    return run


# ---- commands ----------------------------------------------------------

def is_usage(command):
    return bool(re.search(r"\[|\.\.\.|\w\|\w", command))


def check_usage(shell, command):
    """Cannot be typed as it stands: what it names exists."""
    words = command.split()
    help_text = shell(f"strobe {words[1]} --help")
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", command.split(" -- ")[0]):
        assert option in help_text, f"{command}: no {option} in strobe {words[1]} --help"


def serve(shell, command):
    """It serves until it is ended: its first line says where."""
    command = re.sub(r" --port \d+", "", command) + " --port 0"
    server = subprocess.Popen(["/bin/sh", "-c", "exec " + command], cwd=shell.home, env=shell.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert "http://" in server.stdout.readline(), command
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def as_typed(line):
    """Without its explanation, which stands after two blanks; names of things filled in."""
    command = re.split(r"\s{2,}", line.strip())[0].removeprefix("$ ")
    return re.sub(r"\b[A-Z][A-Z0-9]*\b", lambda m: NAMES.get(m.group(), m.group()), command)


def run_command(shell, line):
    command = as_typed(line)
    if is_usage(command):
        check_usage(shell, command)
    elif command.startswith("strobe serve"):
        serve(shell, command)
    elif command.startswith("strobe top"):
        return shell(command + " --once")
    else:
        return shell(command, codes=(0, 1) if "--fail-above" in command else (0,))
    return ""


def masked(text):
    return re.sub(r"\d+(\.\d+)?", "N", text)


def check_output(printed, expected, command):
    """The expected lines stand in what was printed, in their order; `…` is anything."""
    at = 0
    for line in expected:
        if line.strip() in ("…", ""):
            continue
        found = masked(printed).find(masked(line.rstrip()), at)
        assert found >= 0, f"{command}\ndoes not print (numbers masked)\n{line}\nbut\n{printed}"
        at = found


def run_commands(shell, block):
    lines, i = block.lines, 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if not line.strip():
            continue
        shown = []
        while line.startswith("$ ") and i < len(lines) and not lines[i].startswith("$ "):
            shown.append(lines[i])
            i += 1
        if line.startswith("$ cat "):
            (shell.home / line.split()[2]).write_text("\n".join(shown) + "\n")
            continue
        check_output(run_command(shell, line), shown, line)


# ---- code --------------------------------------------------------------

def run_python(shell, block):
    (shell.home / "block.py").write_text(PYTHON + block.text)
    shell("python block.py")


def run_c(shell, block):
    includes = "".join(line + "\n" for line in block.lines if line.startswith("#include")) or "#include <strobe.h>\n"
    body = "\n".join(line for line in block.lines if not line.startswith("#include") and line.strip() != "…")
    (shell.home / "block.c").write_text("#include <stddef.h>\n" + C % (includes, body))
    shell("cc -Wall -Werror -Wno-empty-body block.c -o block $(pkg-config --cflags --libs strobe) && ./block")


def run_yaml(shell, block):
    (shell.home / "block.yaml").write_text(block.text)
    shell("strobe run -c block.yaml --print-config")


def run_log(shell, block):
    (shell.home / "block.txt").write_text(block.text)
    shell("strobe report block.txt")


def run_by(shell, block):
    names = subprocess.run(["ctest", "-N", "--test-dir", BUILD], capture_output=True, text=True, check=True).stdout
    for name in (block.mark or "by walk/report").removeprefix("by ").split(", "):
        known = re.search(rf": {re.escape(name)}$", names, re.M) or f"{name.split('/')[0]}: " in (BUILD / "tests/left_out.txt").read_text()
        assert known, f"there is no test '{name}'"


def run_layout(shell, block):
    assert not re.search(r"^ *(strobe|make|python3?) ", block.text, re.M), "a layout has no commands"


RUNNERS = {"commands": run_commands, "python": run_python, "c": run_c, "yaml": run_yaml, "log": run_log, "by": run_by, "layout": run_layout}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_block(block, shell):
    kind = block.kind()
    assert kind in RUNNERS, "mark what it is: <!-- block: … --> on the line before (see tests/docs/test_docs.py)\n" + block.text
    RUNNERS[kind](shell, block)


def test_what_the_pages_name_is_installed(prefix):
    examples = {path.name for path in (SOURCE / "examples").iterdir() if path.suffix in (".py", ".c", ".yaml")}
    assert {path.name for path in (prefix / "share/strobe/examples").iterdir()} == examples
    for page in (prefix / "share/doc/strobe").glob("*.md"):
        for link in re.findall(r"\]\((?!\w+:|#)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), (page.name, link)
    for page in SOURCE.glob("docs/**/*.md"):
        assert (prefix / "share/doc/strobe" / page.relative_to(SOURCE)).read_text() == page.read_text()
        for named in re.findall(r"examples/(\w+\.(?:py|c|yaml))", page.read_text()):
            assert named in examples, (page, named)


def test_the_specification_names_every_fuzzer():
    named = set(re.findall(r"`(\w+_fuzz)`", (SOURCE / "docs/format.md").read_text()))
    assert named == {path.stem for path in (SOURCE / "tests/fuzz").glob("*_fuzz.c")} | {"packed_fuzz"}  # recording_fuzz with another mutator


def test_there_are_blocks():
    assert len(BLOCKS) > 40
