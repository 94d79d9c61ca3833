"""Run folders: made new, private, never merged and never discarded, whoever else writes beside them."""
import json
import os
import pathlib
import stat
import subprocess

import pytest

from conftest import BUILD, LIMIT_S, PYTHON, TOOL

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")


def rank_of(strobe, rank=0, world=2, job=9, **more):
    """A launcher that gives its ranks no id of this start."""
    strobe.environment.update(SLURM_JOB_ID=str(job), PMI_RANK=str(rank), PMI_SIZE=str(world), **more)


def task_of(strobe, rank, step, job=9):
    strobe.environment.update(SLURM_JOB_ID=str(job), SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_STEP_ID=step)


def record(strobe, *command, where="o"):
    done = strobe.run("-q", "-o", where, "--name", "t", "--", *(command or ("true",)))
    assert done.returncode == 0, done.stderr
    return done


def recordings(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("run.strobe"))


def stranger_owns(path, mode):
    for one in [path, *path.rglob("*")]:
        os.chown(one, NOBODY, NOBODY, follow_symlinks=False)
    path.chmod(mode)


# ---- attempts side by side --------------------------------------------------------------


def test_a_second_run_under_one_job_id_keeps_the_first(strobe):
    rank_of(strobe)
    first = strobe.start("run", "-q", "-o", "o", "--name", "t", "--", "sh", "-c", "echo up; read line",
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout.readline() == b"up\n"
    record(strobe)
    assert recordings(strobe.folder / "o") == ["t-9.2/rank_0/run.strobe", "t-9/rank_0/run.strobe"]
    first.communicate(b"\n", timeout=LIMIT_S)
    assert first.returncode == 0
    record(strobe)
    assert recordings(strobe.folder / "o") == ["t-9.2/rank_0/run.strobe", "t-9.3/rank_0/run.strobe",
                                               "t-9/rank_0/run.strobe"]
    for folder in (strobe.folder / "o").glob("t-9*/rank_0"):
        assert (folder / "profiling_report.json").exists(), folder
    assert os.readlink(strobe.folder / "o" / "last") == "t-9.3"


def test_ranks_of_one_start_share_a_folder_and_those_of_the_next_have_another(strobe):
    for step in ("0", "1"):
        for rank in (0, 1):
            task_of(strobe, rank, step)
            record(strobe)
    assert recordings(strobe.folder / "o") == ["t-9.2/rank_0/run.strobe", "t-9.2/rank_1/run.strobe",
                                               "t-9/rank_0/run.strobe", "t-9/rank_1/run.strobe"]


def test_a_rank_of_another_start_does_not_fill_a_gap(strobe):
    task_of(strobe, 0, "0")
    record(strobe)
    task_of(strobe, 1, "1")
    record(strobe)
    assert recordings(strobe.folder / "o") == ["t-9.2/rank_1/run.strobe", "t-9/rank_0/run.strobe"]


def test_ranks_that_start_at_once_agree(strobe):
    started = []
    for rank in range(8):
        rank_of(strobe, rank, world=8)
        started.append(strobe.start("run", "-q", "-o", "o", "--name", "t", "--", "true"))
    for one in started:
        assert one.wait(LIMIT_S) == 0
    assert recordings(strobe.folder / "o") == ["t-9/rank_%d/run.strobe" % rank for rank in range(8)]
    assert sorted(p.name for p in (strobe.folder / "o").iterdir()) == ["last", "t-9"]


# A launcher that gives its ranks no id of this start: a shell stands for it.
LAUNCH = """for rank in 0 1; do
  PMI_RANK=$rank "$0" run -q -o o --name t -- sh -c 'echo '$1' >"$STROBE_RUN_DIR/start"' || exit &
done
wait"""
ROUNDS = 50


def starts_by_folder(folder):
    return {p.name: sorted((r.name, (r / "start").read_text().strip()) for r in p.glob("rank_*"))
            for p in folder.iterdir() if not p.is_symlink()}


def test_two_starts_at_once_without_an_id_are_two_runs_each_whole(strobe):
    strobe.environment.update(SLURM_JOB_ID="9", PMI_SIZE="2", STROBE_GENERATE_FINAL_REPORT="0", STROBE_MONITOR="0")
    for i in range(ROUNDS):
        started = [subprocess.Popen(["sh", "-c", LAUNCH, TOOL, f"{i}{which}"], env=strobe.environment, cwd=strobe.folder)
                   for which in "ab"]
        for one in started:
            assert one.wait(LIMIT_S) == 0
    found = starts_by_folder(strobe.folder / "o")
    assert len(found) == 2 * ROUNDS, sorted(found)
    for name, ranks in found.items():
        assert [rank for rank, _ in ranks] == ["rank_0", "rank_1"], (name, ranks)
        assert len({start for _, start in ranks}) == 1, (name, ranks)


def test_two_runs_started_together_are_two_runs(strobe):
    strobe.environment.update(STROBE_GENERATE_FINAL_REPORT="0", STROBE_MONITOR="0")
    for _ in range(ROUNDS // 10):
        started = [strobe.start("run", "-q", "-o", "o", "--name", "t", "--", "true") for _ in range(4)]
        for one in started:
            assert one.wait(LIMIT_S) == 0
    assert len(recordings(strobe.folder / "o")) == 4 * (ROUNDS // 10)


def test_the_attempt_is_recorded_and_shown(strobe):
    rank_of(strobe)
    record(strobe)
    record(strobe)
    for name, attempt in (("t-9", 1), ("t-9.2", 2)):
        run = strobe.folder / "o" / name / "rank_0"
        session = json.loads(subprocess.run([TOOL, "report", "--format=json", run], check=True, capture_output=True,
                                            text=True, timeout=LIMIT_S).stdout)["session_info"]
        assert (session["job"], session["attempt_index"]) == ("9", attempt)
        text = subprocess.run([TOOL, "report", run], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout
        assert (", attempt 2" in text) == (attempt == 2)


def test_an_older_folder_of_that_name_is_left_as_it_is(strobe):
    old = strobe.folder / "o" / "t-9" / "rank_0"
    old.mkdir(parents=True)
    (old / "run.strobe").write_text("precious")
    rank_of(strobe)
    record(strobe)
    assert (old / "run.strobe").read_text() == "precious"
    assert sorted(p.name for p in old.iterdir()) == ["run.strobe"]


def test_a_file_called_last_stays(strobe):
    (strobe.folder / "o").mkdir()
    (strobe.folder / "o" / "last").write_text("mine")
    record(strobe)
    assert (strobe.folder / "o" / "last").read_text() == "mine"


def test_a_program_that_runs_unrecorded_still_finds_the_package(strobe):
    done = strobe.run("-o", "/proc/nowhere", "--", PYTHON, "-c", "import strobe; print(strobe.recording())")
    assert "runs unrecorded" in done.stderr
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("False", "0")


# ---- folders that others write to -------------------------------------------------------


def shared(strobe):
    folder = strobe.folder / "scratch"
    folder.mkdir()
    folder.chmod(0o777)
    secret = strobe.folder / "secret"
    secret.write_text("the key")
    secret.chmod(0o600)
    return folder, secret


@needs_root
def test_a_strangers_job_folder_is_not_joined(strobe):
    folder, secret = shared(strobe)
    trap = folder / "t-9" / "rank_0"
    trap.mkdir(parents=True)
    (trap / "run.77.strobe.spool").write_text(str(secret))
    for name in ("profiling_report.json", "run.77.strobe.tmp"):
        (trap / name).symlink_to(secret)
    before = sorted(p.name for p in trap.iterdir())
    stranger_owns(folder / "t-9", 0o777)
    trap.chmod(0o777)
    rank_of(strobe)
    record(strobe, where="scratch")
    assert secret.read_text() == "the key"
    assert sorted(p.name for p in trap.iterdir()) == before
    made = folder / "t-9.2" / "rank_0"
    assert (made / "profiling_report.json").exists()
    for path in (made, made.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_job_folder_that_others_may_write_to_is_not_joined(strobe):
    folder, _ = shared(strobe)
    rank_of(strobe, 0)
    record(strobe, where="scratch")
    (folder / "t-9").chmod(0o777)
    rank_of(strobe, 1)
    record(strobe, where="scratch")
    assert recordings(folder) == ["t-9.2/rank_1/run.strobe", "t-9/rank_0/run.strobe"]


def test_a_link_in_place_of_the_job_folder_is_not_followed(strobe):
    folder, _ = shared(strobe)
    home = strobe.folder / "home"
    home.mkdir(mode=0o700)
    (folder / "t-9").symlink_to(home)
    rank_of(strobe)
    record(strobe, where="scratch")
    assert list(home.iterdir()) == []
    assert recordings(folder) == ["t-9.2/rank_0/run.strobe"]


def test_a_pointer_that_strobe_did_not_write_is_not_followed(strobe):
    _, secret = shared(strobe)
    done = record(strobe, "sh", "-c", "printf %s " + str(secret) + ' > "$STROBE_RUN_DIR/run.77.strobe.spool"')
    assert secret.read_text() == "the key"
    assert "is left alone" in done.stderr
    made = (strobe.folder / "o" / "last").resolve()
    assert not (made / "run.77.strobe").exists()


def test_a_spool_of_the_run_comes_home(strobe):
    spools = strobe.folder / "spools"
    spools.mkdir()
    strobe.environment.update(STROBE_SPOOL="1", STROBE_SPOOL_DIR=str(spools), PYTHONPATH=str(BUILD / "python"))
    script = strobe.script("import os, signal, strobe\nwith strobe.section('a'): pass\n"
                           "os.kill(os.getpid(), signal.SIGKILL)\n")
    done = strobe.run("-q", "-o", "o", "--", PYTHON, script)
    assert done.returncode == 137
    made = (strobe.folder / "o" / "last").resolve()
    assert list(spools.iterdir()) == []
    assert len(list(made.glob("run.*.strobe"))) == 1
    assert list(made.glob("*.spool")) == []


@needs_root
def test_a_program_does_not_record_into_a_strangers_folder(strobe):
    folder, _ = shared(strobe)
    trap = folder / "trap"
    trap.mkdir()
    stranger_owns(trap, 0o777)
    strobe.environment.update(STROBE_ENABLED="1", STROBE_RUN_DIR=str(trap))
    done = subprocess.run([str(BUILD / "examples" / "video_pipeline")], cwd=strobe.folder, env=strobe.environment,
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0
    assert list(trap.iterdir()) == []
    assert "not your own" in done.stderr


@needs_root
def test_another_user_gains_nothing_by_watching_a_shared_folder(strobe):
    """What a run leaves in a shared folder, another user can neither read nor enter."""
    folder, _ = shared(strobe)
    for parent in [folder, *folder.parents]:
        if parent != pathlib.Path("/") and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    record(strobe, where="scratch")
    made = (folder / "last").resolve()
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            os.listdir(made)
        except PermissionError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# ---- a program that changes its folder --------------------------------------------------


def test_a_program_that_changes_its_folder_has_its_report_and_its_children(strobe):
    elsewhere = strobe.folder / "elsewhere"
    elsewhere.mkdir()
    script = strobe.script(
        "import os, strobe\n"
        "strobe.start(output_dir='o')\n"
        "with strobe.section('parent'): pass\n"
        "os.chdir('elsewhere')\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    with strobe.section('kid'): pass\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "strobe.stop()\n")
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    done = subprocess.run([PYTHON, script], cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert list(elsewhere.iterdir()) == []
    run = (strobe.folder / "o" / "last").resolve()
    assert len(list(run.glob("*.strobe"))) == 2
    assert '"kid"' in (run / "profiling_report.json").read_text()


# ---- a folder that is replaced while the command runs ----------------------------------


def test_files_of_a_folder_that_took_the_runs_place_are_left_alone(strobe):
    """A user who may write to the folder above can move the run and put a link there."""
    victim = strobe.folder / "victim"
    victim.mkdir()
    names = ["display_asked.txt", "stages_seen.txt", "inner_runs.txt", "unrecorded.txt", "run.strobe", "profiling_report.json",
             "profiling_report.html", "timing_summary.txt", "memory_log.json"]
    for name in names:
        (victim / name).write_text("mine")
    script = strobe.script(f"mv $STROBE_RUN_DIR {strobe.folder}/moved && ln -s {victim} $STROBE_RUN_DIR && {TOOL} run -q -o inner -- true\n",
                           "swap.sh")
    done = strobe.run("-q", "-o", "o", "--stage", "mod:f=x", "--", "sh", script)
    assert done.returncode == 0 and "was moved or replaced" in done.stderr
    assert sorted(p.name for p in victim.iterdir()) == sorted(names)
    assert all((victim / name).read_text() == "mine" for name in names)


# ---- a folder of runs -------------------------------------------------------------------


def test_a_folder_of_runs_means_its_last(strobe):
    record(strobe, "true")
    record(strobe, "sh", "-c", "exit 0")
    last = (strobe.folder / "o" / "last").resolve()
    for command in (("report", "o"), ("report", "o/"), ("export", "o", "--to", "chrome", "-o", "trace.json")):
        done = strobe(*command)
        assert done.returncode == 0, done.stderr
    done = strobe("report", "o", "--format", "json")
    assert "exit 0" in done.stdout and '"sh -c' in done.stdout, last
    (strobe.folder / "nothing").mkdir()
    done = strobe("report", "nothing")
    assert done.returncode == 2
    assert "holds no recording" in done.stderr


# ---- ranks that still run ---------------------------------------------------------------


def test_a_rank_that_still_runs_is_not_said_to_have_ended(strobe):
    rank_of(strobe, 0)
    record(strobe)
    rank_of(strobe, 1)
    script = strobe.script("import sys, strobe\nwith strobe.section('a'): pass\nprint('up', flush=True)\nsys.stdin.read()\n")
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    second = strobe.start("run", "-q", "-o", "o", "--name", "t", "--", PYTHON, script, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    assert second.stdout.readline() == b"up\n"
    said = strobe("aggregate", "o/t-9").stdout
    second.communicate(timeout=LIMIT_S)
    assert "rank 1 (o/t-9/rank_1) still runs" in said
    assert "ended without a stop" not in said
    assert "rank 1 (" not in strobe("aggregate", "o/t-9").stdout
