"""forebayctl with a real forebayd, from start to stop."""

import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_FOREBAYD = pathlib.Path(os.environ.get(
    "FOREBAY_DAEMON", _ROOT / "bazel-bin/server/daemon/forebayd"))
_FOREBAYCTL = pathlib.Path(os.environ.get(
    "FOREBAY_CTL", _ROOT / "bazel-bin/tools/forebayctl/forebayctl"))
_NOBODY = 65534
_PATIENCE = 150  # seconds after which a wait counts as a hang


class CtlTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="forebay-ctl-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(
            os.environ, FOREBAY_RUNTIME_DIR=self.folder,
            XDG_CACHE_HOME=self.folder + "/cache")
        self.daemon = None

    def start_daemon(self, *arguments):
        self.daemon = subprocess.Popen(
            [_FOREBAYD, "--runtime-dir", self.folder, *arguments],
            env=self.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(self.daemon.wait)
        self.addCleanup(self.daemon.kill)
        end = time.monotonic() + _PATIENCE
        while self.ctl("status").returncode != 0:
            self.assertIsNone(self.daemon.poll(), "the daemon ended")
            self.assertLess(time.monotonic(), end, "the daemon is not ready")

    def ctl(self, *arguments):
        return subprocess.run(
            [_FOREBAYCTL, *arguments], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=_PATIENCE, check=False)

    def json(self, *arguments):
        result = self.ctl("--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_a_daemon_of_another_user_is_not_trusted(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.folder + "/admin.sock")
            os.seteuid(_NOBODY)
            try:
                listener.listen()
            finally:
                os.seteuid(0)
            status = self.ctl("status")
        self.assertNotEqual(status.returncode, 0)
        self.assertIn(f"runs as uid {_NOBODY}", status.stderr)

    def test_every_verb_of_an_idle_daemon(self):
        self.start_daemon()
        status = self.json("status")
        self.assertEqual(status["pid"], self.daemon.pid)
        self.assertEqual(status["jobs"], 0)
        self.assertGreater(int(status["memory_limit"]), 0)
        self.assertGreater(status["workers"], 0)
        files, = status["sources"]  # neither a bucket nor a web server is open
        self.assertEqual(files["name"], "files")
        self.assertEqual(files["concurrency"], 64)
        self.assertEqual(files["in_flight"], "0")
        for verb in ("jobs", "queues"):
            self.assertEqual(self.json(verb)["jobs"], [])
            self.assertEqual(self.ctl(verb).stdout, "no jobs\n")
        self.assertEqual(self.json("top", "--interval", "0.1")["jobs"], [])
        cache = self.json("cache")
        self.assertEqual((cache["jobs"], cache["entries"]), ([], "0"))
        self.assertEqual(cache["capacity"], status["memory_cache"])
        self.assertIn("FROM MEMORY", self.ctl("cache").stdout)
        version = self.json("version")
        self.assertEqual(version["forebayctl"], version["forebayd"])
        doctor = self.json("doctor")
        self.assertTrue(doctor["healthy"], doctor)
        self.assertIn("GPU", " ".join(f["subject"] for f in doctor["findings"]))
        peek = self.ctl("peek", "nothing", "-o", self.folder + "/batch.png")
        self.assertEqual(peek.returncode, 1)
        self.assertIn("nothing", peek.stderr)

    def test_a_broken_gpu_plugin_harms_nobody(self):
        plugin = self.folder + "/plugin.so"
        pathlib.Path(plugin).write_bytes(b"\x7fELF\2\1\1" + bytes(57))
        path = self.folder + "/forebayd.toml"
        pathlib.Path(path).write_text(f"cuda.plugin = '{plugin}'\n")
        self.start_daemon("--config", path)
        doctor = self.json("doctor")
        self.assertTrue(doctor["healthy"], doctor)
        self.assertIn({
            "level": "note", "subject": "GPU",
            "sentence": f"The daemon sees no GPU: {plugin} is not a shared "
                        "library."}, doctor["findings"])
        self.assertIn("GPUs          none\n", self.ctl("status").stdout)

    def test_configuration_is_shown_and_obeyed(self):
        path = self.folder + "/forebayd.toml"
        pathlib.Path(path).write_text(
            "[memory]\nlimit = '700MiB'\n[cpu]\nworkers = 1\n")
        self.start_daemon("--config", os.path.relpath(path))
        status = self.json("status")
        self.assertEqual(status["memory_limit"], str(700 << 20))
        self.assertEqual(status["workers"], 1)
        self.assertTrue(os.path.isabs(status["config_file"]))
        self.assertTrue(os.path.samefile(status["config_file"], path))

    def test_a_typo_in_the_configuration_is_named(self):
        path = self.folder + "/forebayd.toml"
        pathlib.Path(path).write_text("[memory]\nlimt = '1GiB'\n")
        result = subprocess.run(
            [_FOREBAYD, "--runtime-dir", self.folder, "--config", path],
            env=self.environment, stderr=subprocess.PIPE, text=True,
            timeout=_PATIENCE, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(
            f"{path}: memory.limt: unknown key (line 2); did you mean "
            "memory.limit?", result.stderr)

    def test_a_bad_command_line_is_one_sentence(self):
        def verb(arguments):
            return "".join(f"{word} " for word in arguments
                           if word in ("jobs", "peek", "set", "status", "top"))

        for program, arguments, sentence in (
                ("forebayctl", [], "A subcommand is required"),
                ("forebayctl", ["jbos"],
                 "there is no subcommand jbos; did you mean jobs?"),
                ("forebayctl", ["--jobs"], "there is no option --jobs"),
                ("forebayctl", ["zzz"], "there is no subcommand zzz"),
                ("forebayctl", ["--jsno", "status"],
                 "there is no option --jsno; did you mean --json?"),
                ("forebayctl", ["set", "job-1", "--weigth", "2"],
                 "there is no option --weigth; did you mean --weight?"),
                ("forebayctl", ["set", "job-1", "--weight", "0"],
                 "--weight: 0 is not from 0.001 to 1000"),
                ("forebayctl", ["set", "job-1", "--weight", "nan"],
                 "--weight: nan is not a number"),
                ("forebayctl", ["peek", "job-1", "--count", "0"],
                 "--count: 0 is not from 1 to 4096"),
                ("forebayctl", ["top", "--interval", "1h"],
                 "--interval: 1h is not a number"),
                ("forebayd", ["--exit-when-idle", "nan"],
                 "--exit-when-idle: nan is not a number from 0 to 604800"),
                ("forebayctl", ["jobs", "all"],
                 "The following argument was not expected: all"),
                ("forebayctl", ["peek"], "JOB is required"),
                ("forebayctl", ["set", "job-1", "--max-read", "fast"],
                 '--max-read: "fast" is not a rate: write a number and B/s, KB/s, '
                 "MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s, such as "
                 "200MB/s, or none"),
                ("forebayd", ["--port", "80"],
                 "The following arguments were not expected: 80 --port")):
            result = subprocess.run(
                [{"forebayctl": _FOREBAYCTL, "forebayd": _FOREBAYD}[program],
                 *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, timeout=_PATIENCE, check=False)
            self.assertEqual(
                (result.returncode, result.stdout, result.stderr),
                (2, "", f"{program}: {sentence} (see {program} "
                        f"{verb(arguments)}--help)\n"))

    def test_help_and_version_are_options_and_verbs(self):
        for verb in ("help", "set", "top"):
            with self.subTest(verb):
                asked = [] if verb == "help" else [verb]
                help_of = self.ctl("help", *asked)
                self.assertEqual(help_of.returncode, 0)
                self.assertIn("Usage: forebayctl", help_of.stdout)
                self.assertEqual(help_of.stdout, self.ctl(*asked, "--help").stdout)
        unknown = self.ctl("help", "stauts")
        self.assertEqual((unknown.returncode, unknown.stdout), (2, ""))
        self.assertIn("did you mean status?", unknown.stderr)
        version = self.ctl("--version")
        self.assertEqual(version.returncode, 0)
        self.assertEqual(version.stdout.strip(),
                         self.ctl("version").stdout.split(",")[0])

    def test_a_killed_daemon_is_missed_and_its_socket_replaced(self):
        self.start_daemon()
        self.daemon.kill()
        self.daemon.wait()
        self.assertEqual(self.ctl("status").returncode, 3)
        self.start_daemon()
        self.assertEqual(self.json("status")["pid"], self.daemon.pid)

    def test_a_terminated_daemon_leaves_no_socket(self):
        self.start_daemon()
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(timeout=_PATIENCE), 0)
        self.assertFalse(os.path.exists(self.folder + "/admin.sock"))

    def _live_top(self):
        """Starts forebayctl top on a terminal of its own, and waits until it has
        drawn."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(_FOREBAYCTL, ["forebayctl", "top"], self.environment)
        self.addCleanup(os.close, terminal)
        screen = self._read_until(terminal, b"q: quit")
        self.assertIn(b"\x1b[?1049h", screen)
        return pid, terminal

    def _read_until(self, terminal, mark):
        screen = b""
        while mark not in screen:
            ready, _, _ = select.select([terminal], [], [], _PATIENCE)
            self.assertTrue(ready, screen)
            try:
                data = os.read(terminal, 4096)
            except OSError:  # Linux reports so that the other side is closed
                data = b""
            self.assertTrue(data, screen)
            screen += data
        return screen

    def _expect_restored(self, pid, terminal):
        self._read_until(terminal, b"\x1b[?25h\x1b[?1049l")
        _, result = os.waitpid(pid, 0)
        self.assertEqual(os.WEXITSTATUS(result), 0)
        self.assertTrue(os.WIFEXITED(result))

    def test_top_quits_on_a_key(self):
        self.start_daemon()
        for key in (b"q", b"\x03"):
            pid, terminal = self._live_top()
            os.write(terminal, key)
            self._expect_restored(pid, terminal)

    def test_top_restores_the_terminal_when_it_is_ended(self):
        self.start_daemon()
        for number in (signal.SIGINT, signal.SIGTERM):
            pid, terminal = self._live_top()
            os.kill(pid, number)
            self._expect_restored(pid, terminal)

    def test_top_goes_on_when_the_daemon_comes_back(self):
        self.start_daemon()
        pid, terminal = self._live_top()
        self.daemon.kill()
        self.daemon.wait()
        self._read_until(terminal, b"no forebay daemon is running in " +
                         self.folder.encode() + b": trying again")
        self.start_daemon()
        self._read_until(terminal, b"workers 0 of ")
        os.write(terminal, b"q")
        self._expect_restored(pid, terminal)

    def test_top_without_a_daemon_ends(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(_FOREBAYCTL, ["forebayctl", "top"], self.environment)
        self.addCleanup(os.close, terminal)
        self._read_until(terminal, b"forebayctl: no forebay daemon is running")
        _, result = os.waitpid(pid, 0)
        self.assertEqual(os.WEXITSTATUS(result), 3)


if __name__ == "__main__":
    unittest.main()
