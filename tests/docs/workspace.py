"""A copy of the repository in which a page's commands run, with the files of their own that readers are told
to have, and the servers that the commands start."""

import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

READY = re.compile(r"attnd: listening on (https?)://([0-9.]+:\d+)")
ADDRESS = "127.0.0.1:8080"  # of all documents
DEADLINE_S = 300


def run(command, cwd, env):
    return subprocess.run(["sh", "-euc", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=DEADLINE_S, check=False)


class Workspace:
    def __init__(self, root, build):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="docs-", dir=build))
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                               capture_output=True, text=True, check=True)
        for name in files.stdout.split("\0"):
            if name and (root / name).exists():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.folder / name)
        (self.folder / "build").symlink_to(build)
        self.server, self.address, self.output = None, None, None

    def shell(self, command):
        """Runs a command to its end; the documents' address is the server's."""
        return run(self.here(command), self.folder, {**os.environ, "ATTND_LISTEN": self.address or ADDRESS})

    def here(self, command):
        return command.replace(ADDRESS, self.address or ADDRESS)

    def serve(self, command):
        """Starts a command that serves, on a free port, and waits for its ready line and digests."""
        self.stop()
        command = self.here(command).strip()
        if "run.sh" not in command:
            command = re.sub(r" --listen \S+", "", command).replace("\\\n", " ") + " --listen 127.0.0.1:0"
        self.output = tempfile.TemporaryFile("w+")
        self.server = subprocess.Popen(["sh", "-c", "exec " + command], cwd=self.folder, text=True,
                                       stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
                                       env={**os.environ, "LISTEN": "127.0.0.1:0"})
        deadline = time.monotonic() + DEADLINE_S
        while self.ready_address() is None:
            if self.server.poll() is not None or time.monotonic() > deadline:
                self.server.kill()
                self.server = None
                raise RuntimeError("it did not become ready:\n" + self.said())
            time.sleep(0.05)
        self.address = self.ready_address()
        try:
            while any(model["digest"] is None for model in self.ask("/models")["models"]):
                time.sleep(0.05)
        except urllib.error.HTTPError as refused:
            if refused.code != 401:  # a server with keys does not tell
                raise

    def ready_address(self):
        ready = READY.search(self.said())
        return ready[2] if ready else None

    def said(self):
        return os.pread(self.output.fileno(), 1 << 20, 0).decode(errors="replace")

    def ask(self, path):
        scheme = READY.search(self.said())[1]
        anybody = ssl._create_unverified_context()  # the page made the certificate
        with urllib.request.urlopen(f"{scheme}://{self.address}{path}", timeout=30, context=anybody) as reply:
            return json.load(reply)

    def stop(self):
        """A server that documents start ends with status 0 when it is told to."""
        if self.server is None:
            return
        self.server.send_signal(signal.SIGTERM)
        status = self.server.wait(timeout=60)
        self.server, self.address = None, None
        if status != 0:
            raise RuntimeError(f"the server ended with status {status}:\n" + self.said())

    def close(self):
        try:
            self.stop()
        finally:
            if self.server is not None:
                self.server.kill()
            shutil.rmtree(self.folder)
