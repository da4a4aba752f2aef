"""Stops a program at its system calls by ptrace, to kill it there or to do
something else first. Also makes system calls fail, as in other kernels and file
systems."""

import ctypes
import os
import platform
import signal
import struct

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                        ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long

TRACEME, SYSCALL, SETOPTIONS, SYSCALL_INFO, DETACH = 0, 24, 0x4200, 0x420e, 17
SYSGOOD, EXITKILL = 1, 1 << 20
AT_FDCWD = (1 << 32) - 100

# For x86-64; with other numbers nothing is refused.
OPENAT, FLOCK, RENAMEAT2 = 257, 73, 316
CAN_REFUSE = platform.machine() == "x86_64"
EWOULDBLOCK, ENOLCK, EINVAL, EOPNOTSUPP = 11, 37, 22, 95


def ptrace(request, pid, address=0, data=0):
    done = libc.ptrace(request, pid, address, data)
    if done < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return done


def refuse(calls):
    """Makes these calls fail: {number: error}, or {number: (error, i, bits)} if
    argument i has all these bits."""
    load, equal, bits_set, done = 0x20, 0x15, 0x45, 0x06
    code = []
    for number, how in calls.items():
        error, argument, bits = how if isinstance(how, tuple) else (how, 0, 0)
        test = []
        if bits:
            test = [(load, 0, 0, 16 + 8 * argument), (0x54, 0, 0, bits),
                    (equal, 0, 1, bits)]
        code += [(load, 0, 0, 0), (equal, 0, len(test) + 1, number), *test,
                 (done, 0, 0, 0x50000 | error)]
    code.append((done, 0, 0, 0x7fff0000))
    program = ctypes.create_string_buffer(
        b"".join(struct.pack("=HBBI", *step) for step in code))
    filled = ctypes.create_string_buffer(
        struct.pack("@HP", len(code), ctypes.addressof(program)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filled, 0, 0):
        os._exit(98)


class Traced:
    """A program that stops at given system calls, from its start. Its output is
    dropped."""

    def __init__(self, command, cwd, refused=None):
        self.calls, self.status = 0, None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                for name, file in (("/dev/null", 0), ("/dev/null", 1),
                                   ("/dev/null", 2)):
                    os.dup2(os.open(name, os.O_RDWR), file)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                ptrace(TRACEME, 0)
                if refused:
                    refuse(refused)
                os.execv(command[0], [str(word) for word in command])
            finally:
                os._exit(99)
        self._wait()
        ptrace(SETOPTIONS, self.pid, 0, SYSGOOD | EXITKILL)

    def _wait(self):
        _, status = os.waitpid(self.pid, 0)
        if not os.WIFSTOPPED(status):
            self.status = os.waitstatus_to_exitcode(status)
        return status

    def _step(self, deliver=0):
        """Runs to the next stop at a call; delivers signals on the way."""
        while self.status is None:
            ptrace(SYSCALL, self.pid, 0, deliver)
            status = self._wait()
            if self.status is not None:
                return
            deliver = os.WSTOPSIG(status)
            if deliver == signal.SIGTRAP | 0x80:
                return

    def next_call(self):
        """Runs to the next system call; returns whether there is one."""
        if self.calls:
            self._step()  # to the end of the previous call
        self._step()
        self.calls += 1
        return self.status is None

    def to_call(self, number):
        while self.calls < number:
            if not self.next_call():
                return False
        return True

    def arguments(self):
        """The number of the call and its arguments."""
        info = ctypes.create_string_buffer(88)
        ptrace(SYSCALL_INFO, self.pid, len(info),
               ctypes.addressof(info))
        return struct.unpack_from("=7Q", info.raw, 24)

    def opens_to_write(self):
        _, folder, _, flags, *_ = self.arguments()
        return folder & 0xffffffff == AT_FDCWD and flags & os.O_ACCMODE

    def go(self, deliver=0):
        """Delivers a signal and runs to the end; the exit code, or minus the signal."""
        if self.status is None:
            ptrace(DETACH, self.pid, 0, deliver)
            while self.status is None:
                self._wait()
        return self.status

    def kill(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            while self.status is None:
                self._wait()
        return self.status


def first_write(command, cwd, refused=None):
    """The number of the first call that opens a file to write, and of the last
    call."""
    run, first = Traced(command, cwd, refused), None
    while run.next_call():
        if first is None and run.opens_to_write():
            first = run.calls
    if run.status != 0:
        raise AssertionError(f"it ended with {run.status}")
    return first or 1, run.calls - 1
