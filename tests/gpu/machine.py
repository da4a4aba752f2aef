"""Step a: the machine: chip, driver, libraries, commit."""

import json
import subprocess
import sys

from tool import ROOT

# Bytes in a second, where the driver does not tell.
BANDWIDTH = {"H200": 4.8e12, "H100": 3.35e12, "A100": 2.04e12, "L40S": 0.86e12,
             "B200": 8e12}
# In a process of its own, whose libraries are those of the program.
ASK = r"""
import ctypes, json
def library(name):
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
def version(name, function, restype=ctypes.c_size_t):
    its = getattr(library(name), function, None) if library(name) else None
    if its is None:
        return None
    its.restype = restype
    return int(its())
out = {"cudnn": version("libcudnn.so.9", "cudnnGetVersion"),
       "cublaslt": version("libcublasLt.so.13", "cublasLtGetVersion")
                   or version("libcublasLt.so.12", "cublasLtGetVersion")}
driver = library("libcuda.so.1")
if driver is not None and driver.cuInit(0) == 0:
    number = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    if driver.cuDriverGetVersion(ctypes.byref(number)) == 0:
        out["cuda_of_driver"] = number.value
    if driver.cuDeviceGetName(name, 256, 0) == 0:
        out["chip"] = name.value.decode()
    def attribute(which):
        ok = driver.cuDeviceGetAttribute(ctypes.byref(number), which, 0) == 0
        return number.value if ok else 0
    # kHz of the memory, and the width of its bus in bits.
    out["bytes_per_second"] = 2e3 * attribute(36) * attribute(37) / 8
    out["cache_bytes"] = attribute(38)  # the second cache
print(json.dumps(out))
"""


def _said(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, check=False, timeout=20,
                              capture_output=True, text=True)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def ask(setting, deadline):
    """What the driver and the libraries say; without "chip" there is no GPU."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=setting.environment(), check=False,
        capture_output=True, text=True, timeout=max(1, deadline.left()))
    return json.loads(done.stdout) if done.returncode == 0 else {}


def describe(setting, deadline):
    out = ask(setting, deadline)
    if not out.get("bytes_per_second"):
        out["bytes_per_second"] = next(
            (rate for chip, rate in BANDWIDTH.items()
             if f" {chip}" in out.get("chip", "")), None)
    out["driver"] = None if setting.is_standin else _said(
        "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    out["commit"] = _said("git", "rev-parse", "--short=12", "HEAD")
    for package in ("torch", "onnxruntime"):
        try:
            out[package] = __import__(package).__version__
        except Exception:  # whatever is wrong with it, it is not there
            out[package] = None
    return out


def lines(found):
    return [f"{key}: {value if value is not None else 'not there'}"
            for key, value in found.items()]
