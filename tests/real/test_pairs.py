"""Point-to-point calls and broadcasts have rows of their own beside the collectives."""
import json
import os
import subprocess
import sys

from conftest import HERE, TOOL, environment
from program_pairs import BROADCAST, NUMBERS, SENT, SENT_LATER

PROGRAM = os.path.join(HERE, "program_pairs.py")
LAUNCHER = """import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, *sys.argv[1:], str(r)], env=dict(os.environ, RANK=str(r), WORLD_SIZE="2")) for r in (0, 1)]
sys.exit(max(r.wait() for r in ranks))"""


def test_send_and_receive_are_one_row_with_their_bytes(tmp_path):
    subprocess.run([TOOL, "run", "-q", "-o", "runs", "--", sys.executable, "-c", LAUNCHER, PROGRAM, str(tmp_path)], cwd=tmp_path,
                   check=True, timeout=900, env=environment(STROBE_HISTORY="off", STROBE_FLOPS="0"))
    job = json.loads(subprocess.run([TOOL, "report", "runs/last", "--format", "json"], cwd=tmp_path, check=True,
                                    stdout=subprocess.PIPE, env=environment()).stdout)
    rows = {row["operation"]: row for row in job["communication"]}
    pairs = rows["send/recv"]
    assert (pairs["collective_count"], pairs["bytes"]) == (SENT + SENT_LATER, 4 * NUMBERS * (SENT + SENT_LATER))
    assert pairs["group"] == rows["broadcast"]["group"] == rows["barrier"]["group"]
    assert (rows["broadcast"]["collective_count"], rows["broadcast"]["bytes"]) == (BROADCAST, 4 * NUMBERS * BROADCAST)
    assert all(row["late_wait_s"] >= 0 and row["transfer_s"] >= 0 for row in rows.values())
    assert job["collective_count"] == 1  # the barrier: pairs and broadcasts are no collective of all, and no blame
    stages = {stage["name"]: stage for stage in job["stages"]}
    assert stages["collective:send"]["count"] == stages["collective:recv"]["count"] == SENT + SENT_LATER
