"""The clients of clients/ against a server on loopback with TLS, keys and a rate: what they say of an image, a
text and an empty text, that they wait after a 429, and that they trust only the authority that they are given.

    BUILD=build python3 tests/docs/test_clients.py        (from the repository's root)

The client for PowerShell is not run: Debian has no PowerShell. Servers that the tests start are ended by them."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("BUILD", "build")
IMAGE, TEXT = "tests/data/examples/wafer_map.png", "server/ui/samples/test_floor.txt"
DEADLINE_S = 120
MCS = ("mcs", "-warnaserror", "-r:System.Net.Http", "-r:System.Runtime.Serialization")


def run(*command, **env):
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=DEADLINE_S, check=False)


def made(*command):
    done = run(*command)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done


class Server:
    """With a certificate for localhost, not for its address, and a key that may ask once a second."""

    def __init__(self, folder):
        self.ca, self.other = folder / "ca.pem", folder / "other.pem"
        for name in "ca", "other":
            made("openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2", "-subj", f"/CN={name}",
                 "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")
        made("openssl", "req", "-newkey", "rsa:2048", "-noenc", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost", "-keyout", folder / "tls.key", "-out", folder / "tls.csr")
        made("openssl", "x509", "-req", "-in", folder / "tls.csr", "-CA", self.ca, "-CAkey", folder / "ca.key",
             "-CAcreateserial", "-days", "2", "-copy_extensions", "copy", "-out", folder / "tls.pem")
        self.key = made(BUILD / "attnd-keys", "add", "line1", "--file", folder / "keys.txt", "--scope", "predict",
                        "--rate", "1").stdout.strip()
        self.process = subprocess.Popen(
            [BUILD / "attnd", "--listen", "127.0.0.1:0", "--model", "wafer-vit=models/wafer-vit", "--model",
             "testlog-bert=models/testlog-bert", "--keys-file", folder / "keys.txt", "--tls-cert-file",
             folder / "tls.pem", "--tls-key-file", folder / "tls.key"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = re.search(r":(\d+) ", self.process.stdout.readline())[1]

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=60)


class Clients:
    """What every client must do. Its command is built(); where it reads the authority is CA_VARIABLE."""

    CA_VARIABLE = "ATTND_CA_FILE"
    COMPARES_NAMES = True

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="clients-", dir=BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.server = Server(cls.folder)
        cls.addClassCleanup(cls.server.stop)
        cls.command = cls.built()

    def asked(self, *paths, host="localhost", key=None, ca=None):
        env = {"ATTND_URL": f"https://{host}:{self.server.port}", self.CA_VARIABLE: str(ca or self.server.ca),
               "ATTND_KEY": self.server.key if key is None else key}
        return run(*self.command, *paths, **env)

    def test_an_image_and_a_text_are_answered_after_a_wait_and_an_empty_text_is_refused(self):
        empty = self.folder / "empty.log"
        empty.touch()
        done = self.asked(IMAGE, TEXT, empty)
        self.assertEqual(done.stdout, f"{IMAGE}: Scratch 0.9734 review\n{TEXT}: leakage 0.9399 review\n")
        self.assertIn("the server is busy (429), again in 1 s\n", done.stderr)
        self.assertIn(f"{empty}: 422 Unusable input: the body is empty", done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_without_a_key_the_problem_is_told(self):
        done = self.asked(IMAGE, key="")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{IMAGE}: 401 No valid key: this needs a key", done.stderr)

    def test_a_server_of_another_authority_or_name_is_not_trusted(self):
        refused = [self.asked(IMAGE, ca=self.server.other)]
        refused += [self.asked(IMAGE, host="127.0.0.1")] if self.COMPARES_NAMES else []
        for done in refused:
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"^{IMAGE}: .*(?i:certificat|authentication)")


class Python(Clients, unittest.TestCase):
    @classmethod
    def built(cls):
        return ["python3", "-B", "clients/python/attnd_client.py"]


class JavaScript(Clients, unittest.TestCase):
    CA_VARIABLE = "NODE_EXTRA_CA_CERTS"

    @classmethod
    def built(cls):
        return ["node", "clients/javascript/attnd-client.mjs"]


class CSharp(Clients, unittest.TestCase):
    COMPARES_NAMES = False  # Mono does not, for an authority that is not in its store

    @classmethod
    def built(cls):
        program = cls.folder / "AttndClient.exe"
        made(*MCS, f"-out:{program}", "clients/csharp/AttndClient.cs")
        return ["mono", program]


if __name__ == "__main__":
    unittest.main()
