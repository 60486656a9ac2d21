"""Workers as processes of this host: pipes, exit status, and nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tare.platforms import EngineError, Launch
from tare.platforms.lines import ChannelClosed
from tare.platforms.process import ProcessHandle, ask, sweep_processes

ECHO = """
import json, sys
print("to the log", file=sys.stderr, flush=True)
for line in sys.stdin:
    print(json.dumps({"echo": json.loads(line)}), flush=True)
"""


@pytest.fixture
def launched(tmp_path):
    """Starts workers that run a piece of Python; all are closed at the end."""
    handles = []

    def start(code, *, token="0123abcd-0001", **other):
        values = {"token": token, "program": (), "variables": {}, "run_dir": tmp_path, "read_only": ()}
        launch = Launch(**{**values, "log": tmp_path / "logs" / "run.log", **other})
        handle = ProcessHandle([sys.executable, "-c", code], launch, {"TARE_RUN": token, "PATH": os.defpath})
        handles.append(handle)
        return handle

    yield start
    for handle in handles:
        handle.close()


def running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False


def wait_until(condition, timeout_s=5.0):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.01)


def test_a_conversation(launched, tmp_path):
    handle = launched(ECHO)
    handle.lines.send("turn", {"steps": 1})
    assert handle.lines.receive(10) == ("echo", {"turn": {"steps": 1}})
    assert handle.wait(0.0) is None
    handle.lines.end_input()
    assert handle.wait(10) == 0
    assert (tmp_path / "logs" / "run.log").read_text(encoding="utf-8") == "to the log\n"


def test_variables_and_folder_are_those_given(launched, tmp_path):
    code = "import json, os; print(json.dumps({'seen': {'env': dict(os.environ), 'cwd': os.getcwd()}}), flush=True)"
    _, seen = launched(code).lines.receive(10)
    seen["env"].pop("LC_CTYPE", None)  # Python's own, where no locale is set
    assert seen == {"env": {"TARE_RUN": "0123abcd-0001", "PATH": os.defpath}, "cwd": str(tmp_path)}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 15)", 143),
        ("import os; os.abort()", 134),
    ],
)
def test_exit_status_is_that_of_a_shell(launched, code, status):
    handle = launched(code)
    with pytest.raises(ChannelClosed):
        handle.lines.receive(10)
    assert handle.wait(10) == status
    assert handle.wait(10) == status


def test_closing_leaves_no_process_no_descriptor_and_no_thread(launched):
    before = set(os.listdir("/proc/self/fd"))
    handle = launched(ECHO)
    handle.lines.send("a", {})
    handle.lines.receive(10)
    (pid,) = [thread for thread in (handle._process.pid,) if running(thread)]
    for _ in range(2):
        handle.close()
    assert not Path(f"/proc/{pid}").exists(), "not even a zombie"
    assert set(os.listdir("/proc/self/fd")) <= before
    assert "tare-lines" not in {thread.name for thread in threading.enumerate()}


def test_killing_takes_the_children_too(launched):
    handle = launched(
        "import json, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print(json.dumps({'child': {'pid': child.pid}}), flush=True)\n"
        "time.sleep(60)"
    )
    _, child = handle.lines.receive(10)
    handle.kill()
    assert handle.wait(10) == 137
    wait_until(lambda: not running(child["pid"]))


def test_killing_takes_a_child_that_left_its_group_and_the_channel_then_closes(launched):
    handle = launched(
        "import json, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "print(json.dumps({'child': {'pid': child.pid}}), flush=True)"
    )
    _, child = handle.lines.receive(10)
    assert handle.wait(10) == 0, "the worker is gone, its child holds the pipe"
    began = time.monotonic()
    handle.close()
    assert time.monotonic() - began < 5
    wait_until(lambda: not running(child["pid"]))


def test_killing_one_run_leaves_others_of_the_campaign(launched):
    first, second = launched(ECHO, token="0123abcd-1"), launched(ECHO, token="0123abcd-12")
    first.kill()
    second.lines.send("a", {})
    assert second.lines.receive(10)[0] == "echo"


def test_what_is_to_be_removed_besides_is_removed_and_its_failure_stops_nothing(tmp_path):
    def remove():
        raise EngineError("it is still there")

    launch = Launch("0123abcd-1", (), {}, tmp_path, (), tmp_path / "log")
    handle = ProcessHandle([sys.executable, "-c", ECHO], launch, {}, remove=remove)
    with pytest.raises(EngineError, match="still there"):
        handle.close()
    assert handle.wait(0.0) == 137
    assert handle.lines.wait_closed(0.0)


def test_a_program_that_is_not_there(tmp_path):
    launch = Launch("0123abcd-1", (), {}, tmp_path, (), tmp_path / "log")
    with pytest.raises(EngineError, match=r"/nowhere/podman can't be started: No such file"):
        ProcessHandle(["/nowhere/podman", "run"], launch, {})


def test_a_log_that_can_not_be_written_is_named(tmp_path, launched):
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    with pytest.raises(EngineError, match=r"the log .*run\.log can't be written"):
        launched(ECHO)


def test_a_sweep_kills_leftovers_of_the_campaign_only(tmp_path):
    tokens = ["0123abcd-0001", "0123abcd-0002", "ffffffff-0001"]
    processes = [
        subprocess.Popen(["sleep", "60"], env={"TARE_RUN": token}, start_new_session=True) for token in tokens
    ]
    try:
        removed = sweep_processes("0123abcd")
        assert removed == [
            f"process {p.pid} of run {token}" for p, token in zip(processes[:2], tokens[:2], strict=True)
        ]
        assert [p.wait(5) for p in processes[:2]] == [-9, -9]
        assert processes[2].poll() is None
        assert sweep_processes("0123abcd") == []
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_sweep_does_not_kill_the_controller(monkeypatch):
    # A controller that was itself started by a run of the campaign, as a test of Tare under Tare is.
    script = (
        "import os; from tare.platforms.process import sweep_processes; print(sweep_processes('0123abcd'))"
    )
    variables = {**os.environ, "TARE_RUN": "0123abcd-0001"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_ask_gives_what_was_printed():
    assert ask(["cat"], stdin=b" 1.2.3\n") == "1.2.3"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["/nowhere/podman", "version"], "/nowhere/podman is not installed"),
        (["/etc"], r"/etc can't be started \(Permission denied\)"),
        (["sh", "-c", "echo one >&2; echo 'Error: no cgroups' >&2; exit 125"], "sh says: Error: no cgroups"),
        (["sh", "-c", "echo only here; exit 1"], "sh says: only here"),
        (["sh", "-c", "exit 7"], "sh says: exit status 7"),
        (["sleep", "60"], "sleep did not answer within 0 s"),
    ],
)
def test_ask_says_in_one_sentence_why_not(argv, said):
    with pytest.raises(EngineError, match=f"^{said}$"):
        ask(argv, timeout_s=0.2)


def test_ctrl_c_at_the_terminal_does_not_reach_what_is_asked():
    """Removing a container must not be ended by a second Ctrl-C."""
    assert ask(["sh", "-c", "ps -o pgid= -p $$ || cut -d' ' -f5 /proc/self/stat"]) != str(os.getpgrp())
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
