"""A Slurm of Debian's packages for one test: munged, slurmctld and slurmd as processes of the test's own on this machine, with
everything they write in one folder and their ports on the loopback. It is no service, and it is gone when the test is."""
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time

CONFIGURATION = """ClusterName=strobe
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""

# Named, so that no file system of control groups is looked for: a container or a bare root may have none, and nothing here uses them.
CONTROL_GROUPS = "CgroupPlugin=cgroup/v1\n"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def wait_for(found, started, what):
    """Until found() is true; a daemon that ends before is an error with its log."""
    for _ in range(600):
        if found():
            return
        for process, log in started:
            if process.poll() is not None:
                raise RuntimeError("%s ended with %d:\n%s" % (process.args[0], process.returncode, open(log).read()[-3000:]))
        time.sleep(0.1)
    raise RuntimeError("no %s within a minute:\n%s" % (what, "\n".join(open(log).read()[-2000:] for _, log in started)))


@contextlib.contextmanager
def slurm(folder):
    """Run a Slurm of one node in folder; yields the environment in which srun and sbatch reach it."""
    folder = str(folder)
    host = socket.gethostname().split(".")[0]
    configuration = os.path.join(folder, "slurm.conf")
    around = dict(os.environ, SLURM_CONF=configuration)
    for name in ("state", "spool"):
        os.mkdir(os.path.join(folder, name))
    with open(configuration, "w") as to:
        to.write(CONFIGURATION.format(host=host, user=getpass.getuser(), folder=folder, cpus=os.cpu_count(), controller=free_port(), node=free_port()))
    with open(os.path.join(folder, "cgroup.conf"), "w") as to:
        to.write(CONTROL_GROUPS)
    key = os.path.join(folder, "munge.key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o400), "wb") as to:
        to.write(os.urandom(1024))
    started = []

    def start(name, *arguments):
        log = os.path.join(folder, name + ".log")
        with open(log, "wb") as to:
            started.append((subprocess.Popen([program(name), *arguments], stdout=to, stderr=to, stdin=subprocess.DEVNULL, env=around, cwd=folder), log))

    def ask(*command):
        return subprocess.run(command, env=around, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()

    try:
        start("munged", "--foreground", "--force", "--key-file", key, "--socket", os.path.join(folder, "munge.socket"), "--pid-file",
              os.path.join(folder, "munged.pid"), "--seed-file", os.path.join(folder, "munge.seed"), "--num-threads", "2")
        wait_for(lambda: os.path.exists(os.path.join(folder, "munge.socket")), started, "munged")
        start("slurmctld", "-D", "-f", configuration)
        start("slurmd", "-D", "-f", configuration, "-N", host)
        wait_for(lambda: ask(program("sinfo"), "-h", "-o", "%T") == "idle", started, "Slurm node")
        yield around
        wait_for(lambda: not ask(program("squeue"), "-h"), started, "end of the jobs")  # a step without its controller stays
    finally:
        for process, _ in reversed(started):
            process.terminate()
        for process, _ in reversed(started):
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
