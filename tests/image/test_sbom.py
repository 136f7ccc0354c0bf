"""The bill of materials of an image's root: what CycloneDX 1.5 asks for, and each package that has a file there.

    python3 tests/image/test_sbom.py ROOT
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
SBOM = json.loads((ROOT / "usr/share/doc/attnd/sbom.cdx.json").read_text())
PURL = re.compile(r"pkg:deb/debian/[a-zB0-9.%-]+@[A-Za-z0-9.%~-]+\?arch=[a-z0-9]+&distro=bookworm")


def owner(path):
    """The Debian package of a library here, under its own name or that of before /lib was a link."""
    real = pathlib.Path("/" + str(path.relative_to(ROOT))).resolve()
    for name in (str(real), str(real).removeprefix("/usr")):
        told = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if told.returncode == 0:
            return told.stdout.split(":")[0]
    raise AssertionError(f"no package has {real}")


def check_document():
    assert SBOM["bomFormat"] == "CycloneDX" and SBOM["specVersion"] == "1.5" and SBOM["version"] == 1
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}", SBOM["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", SBOM["metadata"]["timestamp"])
    assert SBOM["metadata"]["component"]["version"] == pathlib.Path(".version").read_text().strip()
    references = [c["bom-ref"] for c in SBOM["components"]]
    assert len(set(references)) == len(references), "two components have one bom-ref"


def check_packages():
    listed = {c["name"]: c for c in SBOM["components"] if c["type"] == "library"}
    for name, component in listed.items():
        assert PURL.fullmatch(component["purl"]), component["purl"]
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", name],
                                   capture_output=True, text=True, check=True).stdout.split()
        assert component["version"] in installed, name
        assert (ROOT / "usr/share/doc" / name / "copyright").stat().st_size > 0, name
    files = [p for p in ROOT.rglob("*") if p.is_file() and not p.is_symlink() and ".so" in p.name]
    owners = {owner(p) for p in files}
    assert owners == set(listed), owners ^ set(listed)
    return len(listed), len(files)


def check_models():
    models = [c for c in SBOM["components"] if c["type"] == "machine-learning-model"]
    for model in models:
        weights = pathlib.Path("models", model["name"], "model.safetensors").read_bytes()
        assert model["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(weights).hexdigest()}]
        told = json.loads(pathlib.Path("models", model["name"], "attnd.json").read_text())
        assert model["version"] == told["version"]
    assert len(models) == 4


check_document()
packages, files = check_packages()
check_models()
print(f"test_sbom: {packages} packages, which have all {files} libraries, and 4 models")
