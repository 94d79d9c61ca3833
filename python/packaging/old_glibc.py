"""What a wheel that runs on glibc 2.28 is built with, for x86_64 and aarch64 on either: the compiler that the package
`ziglang` brings, and Debian's archives of the libraries, unpacked into a folder of their own. Both are fetched once."""
import glob
import os
import re
import shutil
import subprocess
import sys

GLIBC = "2.28"
ZIG = "0.17.0"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
PACKAGES = ["zlib1g-dev", "libzstd-dev", "libfyaml-dev", "libevent-dev", "libsqlite3-dev", "libncurses-dev"]
TOOLS = {"cc": "cc", "ar": "ar", "ranlib": "ranlib", "ld": "ld.lld"}


class Unreachable(Exception):
    """Something cannot be fetched here."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "strobe")


def run(words, why, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise Unreachable("%s: %s" % (why, (done.stdout.strip().splitlines() or ["no reason given"])[-1]))
    return done.stdout


def once(folder, fill):
    """folder, filled by fill(new folder) the first time; half of it is never left."""
    if not os.path.isdir(folder):
        fresh = folder + ".new-%d" % os.getpid()
        os.makedirs(fresh)
        try:
            fill(fresh)
            os.rename(fresh, folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder


def zig():
    """The folder with the package that brings the compiler."""
    return once(os.path.join(cache(), "zig-" + ZIG), lambda fresh: run(
        [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", fresh, "ziglang==" + ZIG],
        "no ziglang %s from the package index" % ZIG))


def compiler(arch, folder):
    """The programs that CMake calls, in folder."""
    os.makedirs(folder, exist_ok=True)
    for name, inner in TOOLS.items():
        target = " -target %s-linux-gnu.%s" % (arch, GLIBC) if name == "cc" else ""
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write('#!/bin/sh\nPYTHONPATH="%s" exec "%s" -m ziglang %s%s "$@"\n' % (zig(), sys.executable, inner, target))
        os.chmod(path, 0o755)
    return folder


def debian_root(arch):
    """Headers and archives of the libraries for arch; the machine's own packages stay as they are."""
    def fill(fresh):
        state = os.path.join(fresh, "apt")
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(state, name))
        with open(os.path.join(state, "status"), "w"):
            pass
        options = ["APT::Architecture=" + DEBIAN[arch], "APT::Architectures=" + DEBIAN[arch], "APT::Sandbox::User=root",
                   "Dir::State=" + state, "Dir::State::Lists=" + state + "/lists", "Dir::State::status=" + state + "/status",
                   "Dir::Cache=" + state + "/cache"]
        options = [word for option in options for word in ("-o", option)]
        run(["apt-get", "-qq", *options, "update"], "no list of Debian's packages for " + arch)
        python = re.search(r"libpython3\.\d+-dev", run(["apt-cache", *options, "depends", "libpython3-dev"], "no Python headers"))
        run(["apt-get", "-qq", *options, "download", *PACKAGES, python.group()], "no Debian packages for " + arch, cwd=state)
        for name in os.listdir(state):
            if name.endswith(".deb"):
                run(["dpkg-deb", "-x", os.path.join(state, name), fresh], name)
        shutil.rmtree(state)

    if not shutil.which("apt-get"):
        raise Unreachable("no apt-get here: the libraries' archives come from Debian")
    return once(os.path.join(cache(), "root-" + arch), fill)


def settings(arch, folder):
    """(flags for CMake, environment): a build for arch, its programs in folder."""
    root, programs = debian_root(arch), compiler(arch, folder)
    libraries = "%s/usr/lib/%s-linux-gnu" % (root, arch)
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=root, PKG_CONFIG_LIBDIR=libraries + "/pkgconfig",
                       PKG_CONFIG_ALLOW_SYSTEM_LIBS="1", PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1")
    environment.pop("CMAKE_C_COMPILER_LAUNCHER", None)
    values = {
        "CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": arch, "CMAKE_LIBRARY_PATH": libraries,
        "CMAKE_C_COMPILER": programs + "/cc", "CMAKE_AR": programs + "/ar", "CMAKE_RANLIB": programs + "/ranlib",
        "CMAKE_LINKER": programs + "/ld", "CMAKE_C_FLAGS": "-isystem %s/usr/include" % root,
        "CMAKE_EXE_LINKER_FLAGS": "-s", "CMAKE_SHARED_LINKER_FLAGS": "-s", "CMAKE_MODULE_LINKER_FLAGS": "-s",
        "Python_INCLUDE_DIR": glob.glob(root + "/usr/include/python3.*")[0],  # any will do for the stable ABI
    }
    return ["-D%s=%s" % pair for pair in values.items()], environment
