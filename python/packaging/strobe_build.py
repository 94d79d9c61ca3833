"""The PEP 517 backend, and what `make dist` calls. Builds with CMake, dependencies
linked in, and packs: a wheel that brings the command, the library and the start-up
hook, and a tarball that needs neither root nor compiler."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import old_glibc  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "strobe"
DISTRIBUTION = "strobe-video"  # on the package index, where another project is called strobe; the import is NAME
STEM = DISTRIBUTION.replace("-", "_")
HERE = sysconfig.get_platform().rpartition("-")[2].replace(".", "_")
# libstrobe and the tool may need these of the machine, nothing else.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libutil|ld-linux[-\w]*|libgcc_s)\.so")
BINARY = re.compile(r"(\.so(\.\d+)*|bin/strobe|scripts/strobe)$")
SCRIPT = """#!python
import importlib.util, os, sys
sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != os.path.dirname(os.path.realpath(__file__))]
spec = importlib.util.find_spec("strobe")
tool = os.path.join(os.path.dirname(spec.origin), "bin", "strobe") if spec and spec.origin else ""
if not os.access(tool, os.X_OK):
    sys.exit("strobe: the command is missing from this installation: " + (tool or "no package called strobe"))
os.execv(tool, [tool] + sys.argv[1:])
"""


def version():
    with open(os.path.join(ROOT, "include", "strobe.h")) as header:
        return re.search(r'STROBE_VERSION "([^"]+)"', header.read()).group(1)


def metadata():
    return "\n".join([
        "Metadata-Version: 2.1", "Name: " + DISTRIBUTION, "Version: " + version(),
        "Summary: Where the time, memory and money of a video-AI pipeline go",
        "Requires-Python: >=3.9", "License-File: LICENSE",
        "Classifier: Programming Language :: C", "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Python :: Implementation :: CPython", "",
    ])


# ---- building ----

def cmake_build(folder, *flags, environment=None):
    """Configures and builds the tree into folder."""
    for tool in ("cmake", "cc"):
        if not shutil.which(tool) and not (tool == "cc" and shutil.which("gcc")):
            raise SystemExit("strobe: building needs %s (Debian: apt-get install cmake ninja-build gcc)" % tool)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    # A build environment that pip made has no headers of its own: the interpreter is the one that runs this.
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    "-DSTROBE_TESTS=OFF", "-DSTROBE_STATIC_DEPENDENCIES=ON", "-DSTROBE_WERROR=OFF",
                    "-DPython_EXECUTABLE=" + sys.executable, "--log-level=NOTICE", *flags], check=True, env=environment)
    subprocess.run(["cmake", "--build", folder, "-j", str(os.cpu_count() or 1)], check=True, env=environment,
                   stdout=sys.stderr)
    return folder


def dynamic_section(path):
    done = subprocess.run(["readelf", "-d", "-V", "-W", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout if done.returncode == 0 else ""


def platform_tag(binaries, arch):
    """manylinux_2_NN where everything but the C library is linked in, else linux."""
    newest = 17
    for path in binaries:
        text = dynamic_section(path)
        needed = re.findall(r"\(NEEDED\).*\[([^\]]+)\]", text)
        if not text or not all(SYSTEM.match(name) or name.startswith("libstrobe.so") for name in needed):
            return "linux_" + arch
        newest = max([newest] + [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", text)])
    return "manylinux_2_%d_%s" % (newest, arch)


def strip(path):
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", path], check=False)


def stage(build, arch):
    """{path in the package: file}: the Python package with command and library inside."""
    package = os.path.join(build, "python", "strobe")
    if not os.path.exists(os.path.join(package, "_strobe.abi3.so")):
        raise SystemExit("strobe: the Python extension was not built: are the headers of %s there? "
                         "(Debian: apt-get install python3-dev)" % sys.executable)
    files = {}
    for folder, _, names in os.walk(package):
        for name in names:
            if not name.endswith((".pyc", ".pyo")):
                path = os.path.join(folder, name)
                files[os.path.join("strobe", os.path.relpath(path, package))] = path
    files["strobe/bin/strobe"] = os.path.join(build, "strobe")
    files["strobe/lib/libstrobe.so"] = os.path.join(build, "libstrobe.so")  # what the command injects
    copies = tempfile.mkdtemp(prefix="strobe-stage-")
    for name in [n for n in files if BINARY.search(n)]:
        target = os.path.join(copies, name.replace("/", "_"))
        shutil.copy(files[name], target)
        if arch == HERE:
            strip(target)
        files[name] = target
    return files


# ---- packing ----

def hash_of(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def write_wheel(build, folder, arch=HERE):
    files = stage(build, arch)
    tag = "cp39-abi3-" + platform_tag([path for name, path in files.items() if BINARY.search(name)], arch)
    stem = "%s-%s" % (STEM, version())
    info = stem + ".dist-info/"
    with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
        licence = file.read()
    contents = {}
    for name, path in sorted(files.items()):
        with open(path, "rb") as file:
            contents[name] = file.read()
    contents[stem + ".data/scripts/strobe"] = SCRIPT.encode()
    contents[info + "METADATA"] = metadata().encode()
    contents[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: strobe\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()
    contents[info + "LICENSE"] = licence
    contents[info + "entry_points.txt"] = b"[pytest11]\nstrobe = strobe.pytest_plugin\n"
    record = "".join("%s,%s,%d\n" % (name, hash_of(data), len(data)) for name, data in contents.items())
    contents[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    wheel = "%s-%s.whl" % (stem, tag)
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if BINARY.search(name) else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def write_tarball(build, folder, arch=HERE):
    """bin, lib, include, share: unpack it anywhere."""
    stem = "%s-%s-linux-%s" % (NAME, version(), arch)
    with tempfile.TemporaryDirectory() as scratch:
        prefix = os.path.join(scratch, stem)
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        for name in ("LICENSE", "README.md"):
            shutil.copy(os.path.join(ROOT, name), prefix)
        for path, _, names in os.walk(prefix):
            for name in names:
                if arch == HERE and BINARY.search(os.path.join(path, name)):
                    strip(os.path.join(path, name))
        path = os.path.join(folder, stem + ".tar.gz")
        with tarfile.open(path, "w:gz") as archive:
            archive.add(prefix, stem)
    return os.path.basename(path)


# ---- PEP 517 ----

def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = "%s-%s.dist-info" % (STEM, version())
    os.makedirs(os.path.join(metadata_directory, info), exist_ok=True)
    with open(os.path.join(metadata_directory, info, "METADATA"), "w") as file:
        file.write(metadata())
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory(prefix="strobe-build-") as build:
        return write_wheel(cmake_build(build), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    stem = "%s-%s" % (STEM, version())
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, check=True)
    with tarfile.open(os.path.join(sdist_directory, stem + ".tar.gz"), "w:gz") as archive:
        for name in listed.stdout.decode().split("\0"):
            if name:
                archive.add(os.path.join(ROOT, name), os.path.join(stem, name))
        with tempfile.NamedTemporaryFile("w", suffix="PKG-INFO") as info:
            info.write(metadata())
            info.flush()
            archive.add(info.name, os.path.join(stem, "PKG-INFO"))
    return stem + ".tar.gz"


# ---- make dist ----

def build_for(arch, build):
    """A build for arch that runs on an old C library; where that cannot be had, this machine's own way, for it alone."""
    try:
        flags, environment = old_glibc.settings(arch, os.path.join(build, "programs"))
    except old_glibc.Unreachable as error:
        print("strobe: %s: %s" % ("not built for glibc " + old_glibc.GLIBC if arch == HERE else "no wheel for " + arch, error))
        return cmake_build(os.path.join(build, "here")) if arch == HERE else None
    tool = os.path.join(os.path.dirname(build), "strobe")  # this machine's, which `make dist` has built before
    return cmake_build(os.path.join(build, arch), *flags, "-DSTROBE_TOOL_HERE=" + tool, environment=environment)


def main():
    build, folder = (os.path.abspath(path) for path in sys.argv[1:3])
    os.makedirs(folder, exist_ok=True)
    for arch in sys.argv[3:] or sorted(old_glibc.DEBIAN):
        done = build_for(arch, build)
        for write in (write_wheel, write_tarball) if done else ():
            path = os.path.join(folder, write(done, folder, arch))
            print("%-70s %6.1f MB" % (os.path.relpath(path), os.path.getsize(path) / 1e6))


if __name__ == "__main__":
    main()
