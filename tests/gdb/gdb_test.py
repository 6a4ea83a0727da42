#!/usr/bin/env python3
"""Runs gdb with weft-gdb.py on gdb_target and checks what it shows of each ULT.

gdb_test.py MODE GDB SCRIPT TARGET [LIBRARY]

MODE  live      stopped at a breakpoint
      core      in a core file that the kernel has written
      gcore     in one that gdb has written
      stripped  live, with a copy of LIBRARY that has no symbols but the exported ones
      installed live, with LIBRARY where it is installed, and the script that gdb finds beside it

Ends with 77 (skipped), and says why, where gdb may not trace, or the kernel gives core files to a program.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

MODE, GDB, SCRIPT, TARGET = sys.argv[1:5]
LIBRARY = sys.argv[5] if len(sys.argv) > 5 else None
SKIPPED = 77
COMMANDS = ["info ults", "echo == all\\n", "weft bt all", "echo == by name\\n", "weft bt waits suspended"]
OWN = ["echo == own\\n", "source " + os.path.join(os.path.dirname(os.path.realpath(__file__)), "own_values.py")]
SELECT_OWN = ["echo == select own\\n", "weft select owner", "frame function own_and_wait", "print own_number", "print errno",
              "weft bt waits", "print own_number", "weft select waits", "print own_number", "weft select",
              "print own_number", "echo == end\\n"]
SELECT = ["echo == select\\n", "weft select waits", "frame function wait_innermost", "info locals",
          "weft select", "echo == thread\\n", "backtrace"]
failed = False


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIPPED)


def fail(text):
    global failed
    failed = True
    print("FAILED: " + text)


def check(text, pattern, what):
    if not re.search(pattern, text, re.S):
        fail('%s: no "%s" in:\n%s\n' % (what, pattern, text))


def gdb(commands, arguments, **environment):
    line = [GDB, "-nx", "-batch", "-ex", "set confirm off", "-ex", "set debuginfod enabled off"]
    if MODE == "installed":
        line += ["-iex", "add-auto-load-safe-path " + os.path.dirname(os.path.realpath(LIBRARY))]
    else:
        line += ["-ex", "source " + SCRIPT]
    for command in commands:
        line += ["-ex", command]
    done = subprocess.run(line + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment})
    if re.search(r"ptrace.*(not permitted|denied)|Cannot trace|Could not trace", done.stdout):
        skip("gdb may not trace a program here:\n" + done.stdout)
    return done.stdout


def live(**environment):
    return gdb(["break gdb_stop_here", "run"] + COMMANDS + SELECT + OWN + SELECT_OWN, [TARGET], **environment)


def stripped(folder):
    copy = os.path.join(folder, os.path.basename(LIBRARY))
    subprocess.run(["strip", "--strip-all", "-o", copy, LIBRARY], check=True)
    return live(LD_LIBRARY_PATH=folder)


def installed(_):
    return live(LD_LIBRARY_PATH=os.path.dirname(LIBRARY))


def gdbs_core(folder):
    core = os.path.join(folder, "core.gdb")
    # gdb gives up a whole piece of memory where it meets a guard page of the other kind.
    said = gdb(["break gdb_stop_here", "run", "generate-core-file " + core], [TARGET], WEFT_STACK_GUARD="mprotect")
    check(said, "Saved corefile", "generate-core-file")
    return gdb(COMMANDS + SELECT + SELECT_OWN, [TARGET, core])


def kernels_core(folder):
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        skip("the kernel does not write core files into the current folder (core_pattern is %s)" % pattern)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard == 0:
        skip("core files are forbidden here (ulimit -H -c)")
    subprocess.run([TARGET, "abort"], cwd=folder, stderr=subprocess.DEVNULL,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    cores = [name for name in os.listdir(folder) if name.startswith("core")]
    if not cores:
        skip("the kernel wrote no core file")
    return gdb(COMMANDS + SELECT + SELECT_OWN, [TARGET, os.path.join(folder, cores[0])])


def about(text, name):
    """What is said of one unit: its line, and its frames."""
    at = text.find('"%s": ' % name)
    if at < 0:
        return ""
    end = text.find("\n\n", at)
    return text[at : end if end >= 0 else len(text)]


def check_list(text):
    hexadecimal = "0x[0-9a-f]+"
    check(text, r"ULT %s \(main\): running; worker 0, on LWP \d+" % hexadecimal, "list")
    since = r", for \d+\.\d s" if MODE in ("live", "stripped", "installed") else ""
    check(text, r'ULT %s "waits": blocked; waits for an event %s%s; home: worker 0' % (hexadecimal, hexadecimal, since),
          "list")
    check(text, r'ULT %s "suspended": blocked; waits for a resume' % hexadecimal, "list")
    check(text, r'ULT %s "ended": terminated\n' % hexadecimal, "list")
    check(text, r'ULT %s "runs": running; worker 1, on LWP \d+' % hexadecimal, "list")
    check(text, r'ULT %s "fresh": fresh; would run never_runs; home: worker 0' % hexadecimal, "list")


def check_frames(text):
    inside = "libweft" if MODE == "stripped" else "gate_wait"
    check(about(text, "waits"), r"#\d+ .*%s.*wait_innermost \(depth=7\).*wait_outermost" % inside, "frames")
    check(about(text, "suspended"), r"weft_suspend.*suspend_here", "frames")
    check(about(text, "runs"), r"nanosleep.*spin_here", "frames")
    check(about(text, "fresh"), r"has no frames", "frames")


def check_selection(text):
    check(text, r"wait_innermost \(depth=7\).*marker = 4207.*== thread", "selection")
    check(text.split("== thread")[1], r"gdb_stop_here.* in main \(", "thread, afterwards")
    if "== own" in text:
        check(text.split("== own")[1], r"own_number 4300, errno 18\n", "thread-local values of a ULT")


def check_selection_of_own(text):
    check(text, r"#\d+ .*(context_switch|leave_unit|libweft|weft_event_wait|gate_wait)", "the first frame of a ULT that is selected")
    if "sleep_until" in text:
        fail("the lender's frames are among the ULT's:\n" + text)
    values = re.findall(r"^\$\d+ = (-?\d+)$", text, re.M)
    if values != ["4400", "33", "4400", "4100", "4100"]:
        fail("thread-local values of ULTs that are selected: %s in:\n%s" % (values, text))


def main():
    with tempfile.TemporaryDirectory() as folder:
        modes = {"live": lambda _: live(), "stripped": stripped, "installed": installed, "gcore": gdbs_core,
                 "core": kernels_core}
        said = modes[MODE](folder)
    if "== thread" not in said:
        print("FAILED: gdb did not come to the end:\n" + said)
        sys.exit(1)
    listed, rest = said.split("== all\n")
    frames, rest = rest.split("== by name\n")
    by_name, selection = rest.split("== select\n")
    check_list(listed)
    check_frames(frames)
    check(by_name, r'^ULT [^\n]*"waits".*ULT [^\n]*"suspended"', "by name")
    check_selection(selection)
    check_selection_of_own(selection.split("== select own")[1])
    sys.exit(1 if failed else 0)


main()
