"""skein up as a service manager sees it: what it is told, signals, locks, exit codes."""
import os
import shutil
import signal
import stat
import subprocess
import time

from harness import Home, Node, with_home
from lib.places import BUILD
from lib.waiting import wait_for

K_WATCHDOG_US = 300_000
K_NOBODY = 65534
CONFIG = '[node]\ndata = "data"\n[swarms.default]\nmin = 2\nmax = 2\n'


def with_config(test):
    return with_home(test, CONFIG)


@with_config
def test_a_service_manager_hears_ready_reloading_and_stopping(home):
    for abstract in (False, True):
        node = Node(home, abstract=abstract)
        try:
            ready = next(each for each in node.heard if "READY=1" in each)
            assert f"MAINPID={node.process.pid}" in ready and "STATUS=running" in ready, ready
            assert home.run("status").code == 0, "READY came before the socket answers"
            node.heard.clear()
            node.process.send_signal(signal.SIGHUP)
            node.hear("RELOADING=1")
            assert any("MONOTONIC_USEC=" in each for each in node.heard), node.heard
            node.hear("READY=1")
            node.process.send_signal(signal.SIGTERM)
            node.hear("STOPPING=1")
            node.end()
        finally:
            node.kill()
        assert not any("WATCHDOG" in each for each in node.heard)


@with_config
def test_ready_comes_after_recovery(home):
    node = Node(home)
    try:
        # Nobody runs these: they are open when the node comes back.
        home.ok("submit", "nobody", "--count", "2000")
    finally:
        node.end(code=-signal.SIGKILL, how=signal.SIGKILL)
    node = Node(home)
    try:
        assert home.ok("status", "--json").json["tasks"]["open_tasks"] == 2000
    finally:
        node.end()


@with_config
def test_the_watchdog_is_fed_by_the_scheduler(home):
    node = Node(home, env={"WATCHDOG_USEC": str(K_WATCHDOG_US)})
    try:
        for _ in range(3):
            node.heard.clear()
            node.hear("WATCHDOG=1")
        # It stands beside the tree: killing observers does not starve it.
        for _ in range(15):
            home.run("chaos", "kill", "observer_sup/*")
        node.heard.clear()
        node.hear("WATCHDOG=1")
        assert "watchdog" in home.run("ps", "--limit", "1000").out
    finally:
        node.kill()


@with_config
def test_a_watchdog_of_another_process_is_not_ours(home):
    node = Node(home, env={"WATCHDOG_USEC": str(K_WATCHDOG_US), "WATCHDOG_PID": "1"})
    try:
        end = time.monotonic() + 2 * K_WATCHDOG_US / 1e6
        while time.monotonic() < end:
            node.socket.settimeout(max(0.01, end - time.monotonic()))
            try:
                node.heard.append(node.socket.recv(4096).decode())
            except TimeoutError:
                break
        assert not any("WATCHDOG=1" in each for each in node.heard), node.heard
    finally:
        node.end()


@with_config
def test_the_socket_is_the_owners_alone(home):
    node = Node(home)
    try:
        mode = stat.S_IMODE((home.path / "data/skein.sock").stat().st_mode)
        assert mode == 0o600, oct(mode)
        if os.geteuid() == 0:
            # Even when the file would let others in, the kernel says who they are.
            program = shutil.copy(BUILD / "bin/skein", home.path)
            data = home.path / "data"
            for path, mode in ((home.path, 0o755), (data, 0o755), (data / "skein.sock", 0o666)):
                os.chmod(path, mode)
            done = subprocess.run([program, "status", "--data", "data"], cwd=home.path, user=K_NOBODY, group=K_NOBODY,
                                  extra_groups=[], env=home.env, capture_output=True, text=True, check=False)
            assert done.returncode != 0 and not done.stdout, done
            assert "this node serves its own user only: run skein as that user" in done.stderr, done
        else:
            print("not root: another user's connection was not tried")
    finally:
        node.end()


@with_config
def test_two_nodes_do_not_share_a_folder(home):
    node = Node(home)
    try:
        home.expect(9, "up", out="", err=str(node.process.pid))
    finally:
        node.end()


@with_config
def test_stop_ends_the_node(home):
    node = Node(home)
    try:
        home.ok("stop", out="the node has stopped\n")
        node.hear("STOPPING=1")
        assert node.process.wait(timeout=20) == 0
        home.expect(5, "status", err="no node is running")
    finally:
        node.kill()


@with_config
def test_stop_comes_back_when_the_folder_is_free(home):
    for _ in range(3):
        node = Node(home)
        try:
            home.ok("stop", out="the node has stopped\n")
            assert node.process.wait(timeout=1) == 0
        finally:
            node.kill()


@with_config
def test_a_fatal_signal_leaves_a_dump_and_doctor_tells_of_that_alone(home):
    node = Node(home)
    try:
        wait_for(lambda: home.run("doctor").code == 0, "not well, and why not?")
        node.end()
        node = Node(home)
        wait_for(lambda: home.run("doctor").code == 0, "it tells of a crash that never was")
        node.end()
        shutil.rmtree(home.path / "data")
        node = Node(home)  # the folder is new
        node.process.send_signal(signal.SIGSEGV)
        node.process.wait(timeout=20)
        assert (home.path / "data/dump-fatal.txt").stat().st_size > 0
        node.kill()
        node = Node(home)
        home.expect(1, "doctor", out="dump-fatal.txt tells of one")
    finally:
        node.kill()


@with_config
def test_a_data_folder_that_cannot_be_one_is_told_apart_from_one_in_use(home):
    (home.path / "file").write_text("")
    home.expect(1, "up", "--data", "file", out="", err="file")


@with_config
def test_why_a_start_failed_is_in_the_last_line(home):
    node = Node(home)
    node.end()
    segment = sorted((home.path / "data/journal").glob("seg-*.log"))[0]
    with open(segment, "r+b") as file:
        file.write(b"x" * 4096)
    failed = home.expect(1, "up")
    last = failed.err.strip().splitlines()[-1]
    assert segment.name in last and "skein log repair" in last, failed.story()
    assert "failed_to_start_child" not in last, failed.story()


@with_config
def test_doctor_goes_by_the_settings_of_the_node_and_not_by_those_of_its_own_folder(home):
    node = Node(home)
    other = Home()
    try:
        wait_for(lambda: home.run("doctor").code == 0, "not well, and why not?")
        (other.path / "skein.toml").write_text('[journal]\ndisk_low_water_bytes = "1024GiB"\n')
        shown = other.run("doctor", "--data", str(home.path / "data")).out
        assert "ok    disk" in shown and str(home.path / "skein.toml") in shown, shown
        assert "ok    supervision" in shown, shown
    finally:
        other.remove()
        node.kill()
