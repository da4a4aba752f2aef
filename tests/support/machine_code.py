"""What a CUDA kernel's machine code says: registers, memory, widths of loads."""

import concurrent.futures
import hashlib
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile

from elftools.elf import elffile

from support import program

# By the chip that the code is for, one of tests/cuda/plans/chips.h.
CHIPS = {"sm_80": "a100", "sm_89": "l40s", "sm_90": "h100", "sm_100": "b200"}
# From Hopper on, the tools count shared memory that each block loses.
RESERVED = {"sm_80": 0, "sm_89": 0, "sm_90": 1024, "sm_100": 1024}
MOST_THREADS = 5  # the attribute of a kernel with the threads of a block
KEPT = program.ROOT / "build/tests/machine_code"
USAGE = re.compile(r"Function (\w+):\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) "
                   r"LOCAL:(\d+)")
SECTION = re.compile(r"\s*\.section\s+\.text\.(\w+),")
GLOBAL = re.compile(r"\b(?:LDG|STG|LDGSTS)\.([\w.]+)")
LOCAL = re.compile(r"\b(?:LDL|STL)\b")
BYTES = {"256": 32, "128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def tools():
    """The folder of cuobjdump and nvdisasm; None where there is no toolkit."""
    done = subprocess.run([program.ROOT / "cmake/setup.sh", "cuda-python"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    environment = pathlib.Path(done.stdout.strip()).parents[1]
    return next(environment.glob("lib/python*/site-packages/nvidia/*/bin"))


def output(folder, tool, *arguments, cwd=None):
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run([folder / tool, *arguments], capture_output=True,
                          text=True, check=True, cwd=cwd, env=environment).stdout


def threads_of(cubin):
    """{kernel: the most threads of a block}, from attributes of 4 bytes (a form,
    a kind, a size) and, where the form is 4, so many bytes more."""
    found = {}
    for section in elffile.ELFFile(io.BytesIO(cubin)).iter_sections():
        if not section.name.startswith(".nv.info."):
            continue
        data, at = section.data(), 0
        while at < len(data):
            form, kind, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if kind == MOST_THREADS:
                x, y, z = struct.unpack_from("<III", data, at)
                found[section.name.removeprefix(".nv.info.")] = x * y * z
            at += size if form == 4 else 0
    return found


def width(modifiers):
    """The bytes of a load or store."""
    return next((BYTES[each] for each in modifiers.split(".") if each in BYTES),
                4)


def count(disassembly):
    """{kernel: {"local", "wide", "bytes"}}: accesses of local memory, the bytes
    that vectors of 16 and all accesses of global memory name."""
    found, own = {}, {}
    for line in disassembly.splitlines():
        if section := SECTION.match(line):
            own = found.setdefault(section[1], {"local": 0, "wide": 0, "bytes": 0})
        elif access := GLOBAL.search(line):
            size = width(access[1])
            own["bytes"] += size
            own["wide"] += size if size >= 16 else 0
        elif LOCAL.search(line):
            own["local"] += 1
    return found


def of_cubin(folder, path):
    """{kernel: figures} of one file for one chip."""
    chip = path.name.split(".")[-2]
    threads = threads_of(path.read_bytes())
    counts = count(output(folder, "nvdisasm", "-c", "-ndf", path))
    found = {}
    for kernel, *numbers in USAGE.findall(output(folder, "cuobjdump",
                                                 "-res-usage", path)):
        registers, stack, shared, local = map(int, numbers)
        own = counts[kernel]
        found[kernel] = {
            "threads": threads[kernel], "registers": registers,
            "local": stack + local + own["local"],
            "shared": max(shared - RESERVED[chip], 0),
            "vector": 100 * own["wide"] // max(own["bytes"], 1)}
    return chip, found


def of_image(folder, image):
    """[(chip, {kernel: figures})] of a fat binary."""
    kept = KEPT / hashlib.sha256(
        image.read_bytes() + pathlib.Path(__file__).read_bytes()).hexdigest()
    if kept.exists():
        return json.loads(kept.read_text())
    with tempfile.TemporaryDirectory() as name:
        output(folder, "cuobjdump", "-xelf", "all", image, cwd=name)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda path: of_cubin(folder, path),
                                  sorted(pathlib.Path(name).iterdir())))
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found


def occupancies(figures):
    """The percent of each of {(chip, kernel): figures}, in that order."""
    lines = [f"{CHIPS[chip]} {kernel} {own['threads']} {own['registers']} "
             f"{own['shared']}\n" for (chip, kernel), own in figures.items()]
    done = subprocess.run([program.ROOT / "build/cuda_occupancy"], text=True,
                          input="".join(lines), capture_output=True, check=True)
    return list(map(int, done.stdout.split()))


def all_kernels(folder):
    """{(chip, kernel): figures} of all kernels."""
    found = {}
    for image in sorted((program.ROOT / "build/cuda").glob("*.fatbin")):
        for chip, kernels in of_image(folder, image):
            for kernel, own in kernels.items():
                found[chip, kernel] = own
    for own, percent in zip(found.values(), occupancies(found), strict=True):
        own["occupancy"] = percent
    return found
