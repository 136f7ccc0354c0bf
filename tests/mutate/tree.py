"""A build tree of its own, where files may be changed and test programs run.

Each tree is a copy of a commit's files; it is brought to another commit by rewriting only what
differs, so that make builds only that. A tree has up to three variants, each with its own folder of
objects: how the tests run every day, with counters of executed lines, and with the sanitizers of CI.
"""
import os
import shutil
import signal
import subprocess
import tarfile
import time

MEMORY_KB = 6 << 20  # data of one test program: a change may ask for anything
FILE_KB = 2 << 20
COMPILE_SECONDS = 300

PLAIN, COUNTED, SANITIZED = "build", "build-counted", "build-sanitized"
TEST_SECONDS_TIMES = {PLAIN: "1", COUNTED: "2", SANITIZED: "2"}  # of a test's own five minutes: mutate.py has a limit, too
FLAGS = {
    PLAIN: ["OPT=-O1", "SANITIZE=", "WERROR=-Werror"],  # a change that is warned of is none
    COUNTED: ["OPT=-O1", "SANITIZE=--coverage", "WERROR="],
    SANITIZED: ["OPT=-O1", "WERROR=", "SANITIZE=-fsanitize=address,undefined -fno-sanitize-recover=undefined "
                           "-fno-omit-frame-pointer"],
}


def compiler():
    return "ccache gcc" if shutil.which("ccache") else os.environ.get("CC", "cc")


def linker():
    """Every change links its tests anew; mold takes a twentieth of the time."""
    return ["LINKER=-fuse-ld=mold"] if shutil.which("mold") else []


def without_randomisation():
    """The sanitizers of gcc 12 stop now and then where addresses are randomised widely."""
    command = ["setarch", os.uname().machine, "-R"]
    try:
        fine = subprocess.run(command + ["true"], capture_output=True).returncode == 0
    except OSError:
        fine = False
    return command if fine else []


class Tree:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.plain = without_randomisation()

    def file(self, *names):
        return os.path.join(self.path, *names)

    def check_out(self, repository, commit):
        os.makedirs(self.path, exist_ok=True)
        archive = subprocess.Popen(["git", "-C", repository, "archive", commit], stdout=subprocess.PIPE)
        present = set()
        with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
            for member in tar:
                if member.isfile():
                    present.add(member.name)
                    self.write_if_other(member.name, tar.extractfile(member).read(), member.mode)
        if archive.wait() != 0:
            raise SystemExit("git archive %s failed" % commit)
        self.remove_all_but(present)

    def write_if_other(self, name, content, mode):
        path = self.file(name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read() == content:
                    return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)

    def remove_all_but(self, present):
        for folder, folders, names in os.walk(self.path):
            if folder == self.path:
                folders[:] = [name for name in folders if name not in FLAGS]
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.path) not in present:
                    os.remove(path)

    def make(self, variant, targets, jobs=1):
        """True if make built the targets; its output is kept in self.said."""
        command = ["make", "-s", "-j%d" % jobs, "CC=" + compiler(), "BUILD=" + variant]
        command += FLAGS[variant] + linker()
        done = subprocess.run(command + targets, cwd=self.path, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.environment(None))
        self.said = done.stdout.decode(errors="replace")
        return done.returncode == 0

    def tests(self):
        if not self.make(PLAIN, ["list-tests"]):
            raise SystemExit("make list-tests failed:\n" + self.said)
        return self.said.split()

    def make_libraries(self, variant):
        """Builds the libraries that every test is linked with; the second tree finds it in the compiler's cache."""
        names = ["engine", "server", "wire", "support", "load", "bench", "fuzz"]
        if not self.make(variant, ["%s/lib%s.a" % (variant, name) for name in names], jobs=2):
            raise SystemExit("the build failed:\n" + self.said)

    def run(self, variant, test, seconds, environment=None):
        """One test program: "ok", "failed" or "late", its seconds, and the last line it printed."""
        program = self.file(variant, "tests", test)
        limits = "ulimit -c 0; ulimit -Sf %d; " % (FILE_KB * 2)
        if variant != SANITIZED:
            limits += "ulimit -Sd %d; " % MEMORY_KB
        command = ["sh", "-c", limits + 'exec "$@"', "sh"]
        command += (self.plain if variant == SANITIZED else []) + [program]
        settings = dict(environment or {}, CK_TIMEOUT_MULTIPLIER=TEST_SECONDS_TIMES[variant])
        start = time.monotonic()
        with open(self.file("test.log"), "w+b") as log:
            child = subprocess.Popen(command, cwd=self.path, stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, env=self.environment(settings),
                                     start_new_session=True)
            result = self.wait(child, seconds)
            self.end_left_over()
            log.seek(max(0, log.tell() - 4000) if log.seek(0, os.SEEK_END) > 4000 else 0)
            lines = log.read().decode(errors="replace").strip().splitlines()
        return result, time.monotonic() - start, lines[-1] if lines else ""

    def environment(self, more):
        environment = dict(os.environ, **(more or {}))
        environment["ASAN_OPTIONS"] = "allocator_may_return_null=1:hard_rss_limit_mb=%d" % (
            MEMORY_KB >> 10)
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CK_FORK"):
            environment.pop(name, None)
        return environment

    def wait(self, child, seconds):
        try:
            return "ok" if child.wait(seconds) == 0 else "failed"
        except subprocess.TimeoutExpired:
            child.terminate()  # the check library hands this to the process of its test
        try:
            child.wait(3)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return "late"

    def end_left_over(self):
        """Ends what a test left behind: whatever still works in this tree."""
        for _ in range(20):
            left = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.works_here(pid)]
            if not left:
                return
            for pid in left:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)

    def works_here(self, pid):
        try:
            return os.readlink("/proc/%s/cwd" % pid) == self.path
        except OSError:
            return False
