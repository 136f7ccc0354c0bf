"""A Kafka broker in KRaft mode on loopback, from the jars that pom.xml names and jars.sha256 pins."""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
START_S = 180

# Names of listeners; of TLS, what a client must show: nothing, a certificate, a password.
LISTENERS = ("PLAINTEXT", "TLS", "MUTUAL", "SASL")
USER, PASSWORD = "attnd", "of-the-test"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=CONTROLLER://127.0.0.1:{controller},{listeners}
advertised.listeners={listeners}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL,MUTUAL:SSL,SASL:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location={keys}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={keys}/ca.crt
listener.name.mutual.ssl.client.auth=required
listener.name.sasl.sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
listener.name.sasl.scram-sha-512.sasl.jaas.config={scram} required;
listener.name.sasl.plain.sasl.jaas.config={plain} required user_{user}="{password}";
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
auto.create.topics.enable=false
"""


def fetch_jars(folder):
    """Maven's, from wherever this machine's settings say; each must be the one that is pinned."""
    if not folder.is_dir():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        subprocess.run(["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:copy-dependencies",
                        f"-DoutputDirectory={partial}"], check=True)
        partial.rename(folder)
    pinned = {}
    for line in (HERE / "jars.sha256").read_text().splitlines():
        digest, name = line.split()
        pinned[name] = digest
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar")}
    if found != pinned:
        wrong = sorted(name for name in pinned.keys() | found.keys() if pinned.get(name) != found.get(name))
        raise SystemExit(f"{folder}: not the jars of jars.sha256: {', '.join(wrong)}")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Keys:
    """An authority, what it vouches for, and a stranger: NAME.crt and NAME.key, for a day."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.make("ca")
        self.make("stranger")
        self.make("broker", "ca", "subjectAltName=IP:127.0.0.1")
        self.make("client", "ca")
        (folder / "broker.pem").write_text(self["broker.key"].read_text() + self["broker.crt"].read_text())

    def __getitem__(self, name):
        return self.folder / name

    def make(self, name, authority=None, *extensions):
        signed = ["-CA", self[f"{authority}.crt"], "-CAkey", self[f"{authority}.key"]] if authority else []
        more = [argument for extension in extensions for argument in ("-addext", extension)]
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 1,
                "-subj", f"/CN={name}", "-keyout", self[f"{name}.key"], "-out", self[f"{name}.crt"],
                "-addext", f"basicConstraints=critical,CA:{'FALSE' if authority else 'TRUE'}", *signed, *more)


class Broker:
    def __init__(self, jars, work):
        fetch_jars(jars)
        self.jars, self.work, self.process = jars, work, None
        self.keys = Keys(work / "keys")
        controller, *ports = free_ports(1 + len(LISTENERS))
        self.addresses = {name: f"127.0.0.1:{port}" for name, port in zip(LISTENERS, ports)}
        self.address = self.addresses["PLAINTEXT"]
        self.properties = work / "server.properties"
        self.properties.write_text(PROPERTIES.format(
            controller=controller, data=work / "data", keys=self.keys.folder, user=USER, password=PASSWORD, scram=SCRAM,
            plain=PLAIN, listeners=",".join(f"{name}://{address}" for name, address in self.addresses.items())))
        cluster = self.java("kafka.tools.StorageTool", "random-uuid").split()[-1]
        self.java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self.properties), "--add-scram",
                  f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]")
        self.start()

    def command(self, main, *arguments):
        return ["java", "-Xmx400m", "-cp", f"{self.jars}/*", main, *arguments]

    def java(self, main, *arguments, timeout=180):
        done = subprocess.run(self.command(main, *arguments), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{main}: {done.stderr[-2000:]}")
        return done.stdout

    def start(self):
        log = open(self.work / "broker.log", "ab")
        self.process = subprocess.Popen(self.command("kafka.Kafka", str(self.properties)), stdout=log, stderr=log)
        log.close()
        end = time.monotonic() + START_S
        while subprocess.run(["kcat", "-b", self.address, "-L", "-m", "2"], capture_output=True,
                             check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the broker does not start: {self.work / 'broker.log'}")
            time.sleep(0.5)

    def stop(self, how=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(how)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def topic(self, name, partitions, *settings):
        self.java("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.address, "--create", "--topic",
                  name, "--partitions", str(partitions),
                  *(argument for setting in settings for argument in ("--config", setting)))

    def kcat(self, *arguments, data=None):
        done = subprocess.run(["kcat", "-b", self.address, *arguments], input=data, capture_output=True, check=False,
                              env={**os.environ, "LC_ALL": "C"})
        if done.returncode != 0:
            raise RuntimeError(f"kcat {arguments}: {done.stderr.decode(errors='replace')[-1000:]}")
        return done.stdout

    def produce(self, topic, lines):
        """Each line is KEY<tab>VALUE."""
        self.kcat("-P", "-t", topic, "-K", "\t", data=("\n".join(lines) + "\n").encode())

    def read(self, topic, form="%k\\n"):
        """All that is committed."""
        return self.kcat("-C", "-e", "-q", "-t", topic, "-o", "beginning", "-X", "isolation.level=read_committed",
                         "-f", form).decode()
