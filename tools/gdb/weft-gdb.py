# weft-gdb.py: ULTs in gdb, in a live process and in a core file.
#
#   info ults (or: weft ults)   every work unit: name, state, worker, what it waits for
#   weft bt ULT ...             backtraces; ULT is an address, a name, or #id
#   weft bt all                 of all that have a stack
#   weft select ULT             bt, up, down, frame, info locals show that ULT, above the thread's innermost frame; with an
#                               identity of its own, print shows its thread-local variables
#   weft select                 back to the thread
#
# Load it with `source weft-gdb.py`; where it is installed beside the library gdb does so by itself. It reads
# `weft_debug_layout`, which every libweft has, so the library needs no debug information. It calls nothing in the
# program and writes nothing to it. See docs/inside.md.
import re
import struct
import time

import gdb
import gdb.unwinder


class Layout:
    """What the library says of itself."""

    def __init__(self):
        try:
            at = int(gdb.parse_and_eval("(unsigned long)&weft_debug_layout"))
        except gdb.error:
            raise gdb.GdbError("This program has no Weft in it (no symbol weft_debug_layout).")
        head = read(at, 24)
        magic, version, parts = struct.unpack("<8sQQ", head)
        if magic != b"weft-dbg":
            raise gdb.GdbError("Weft's tables are not there yet: let the program run to main first.")
        if version != 1:
            raise gdb.GdbError("This libweft is newer than this script: use the weft-gdb.py that came with it.")
        self.values = {}
        at += 24
        for part in read_words(at, parts):
            fields, count = read_words(part, 2)
            for i in range(count):
                name, address, number = struct.unpack("<32sQQ", read(fields + 48 * i, 48))
                self.values[name.split(b"\0")[0].decode()] = address or number
        at += 8 * parts
        states, waits = read_words(at, 2)
        self.states = [read_text(p) for p in read_words(at + 16, states)]
        self.waits = [read_text(p) for p in read_words(at + 16 + 8 * states, waits)]

    def __getitem__(self, name):
        return self.values[name]


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def read_words(address, count):
    return struct.unpack("<%dQ" % count, read(address, 8 * count))


def read_word(address):
    return read_words(address, 1)[0]


def read_int(address):
    return struct.unpack("<i", read(address, 4))[0]


def read_text(address, most=200):
    text = b""
    while len(text) < most:
        piece = read(address + len(text), 1)
        if piece == b"\0":
            break
        text += piece
    return text.decode(errors="replace")


class Klt:
    def __init__(self, layout, at):
        self.tid = read_int(at + layout["klt.tid"])
        self.current = read_word(at + layout["klt.current"])
        self.held = read_word(at + layout["klt.held"])
        self.captive = read_int(at + layout["klt.state"]) == layout["klt_state.captive"]
        worker = read_word(at + layout["klt.worker"])
        self.worker = read_int(worker + layout["worker.index"]) if worker else None


class Unit:
    def __init__(self, layout, at, data):
        def word(name):
            return struct.unpack_from("<Q", data, layout[name])[0]

        self.layout = layout
        self.at = at
        self.state = data[layout["unit.state"]]
        flags = struct.unpack_from("<H", data, layout["unit.flags"])[0]
        self.tasklet = bool(flags & layout["flag.tasklet"])
        self.primary = bool(flags & layout["flag.primary"])
        start = layout["unit.name"]
        raw = data[start : start + layout["unit.name_size"]].split(b"\0")[0]
        self.name = raw.decode(errors="replace") if flags & layout["flag.named"] else ""
        self.id = word("unit.id")
        self.fn = word("unit.fn")
        self.host = word("unit.host")
        self.pool = word("unit.pool")
        self.wait_kind = struct.unpack_from("<I", data, layout["unit.wait_kind"])[0]
        self.wait_object = word("unit.wait_object")
        self.wait_since = word("unit.wait_since")
        self.sp, self.ip, self.bp = word("unit.sp"), word("unit.ip"), word("unit.bp")
        owns = flags & layout["flag.own_state"] and data[layout["unit.own"]] & layout["own.identity"]
        self.identity = word("unit.identity") if owns else 0
        self.klt = None  # that it runs on, or sleeps in

    def is_(self, state):
        return self.state == self.layout["state." + state]

    def lender(self):
        """The thread whose thread-local variables are the ULT's; None: it has none of its own."""
        return thread_with(read_int(self.identity + self.layout["identity.tid"])) if self.identity else None

    def who(self):
        text = "tasklet " if self.tasklet else "ULT "
        text += hex(self.at)
        if self.name:
            text += ' "%s"' % self.name
        if self.primary:
            text += " (main)"
        return text + (" #%d" % self.id if self.id else "")

    def where(self):
        """The worker that runs it, or in whose pool it is or was."""
        if self.klt:
            text = "on LWP %d" % self.klt.tid
            return ("worker %d, " % self.klt.worker if self.klt.worker is not None else "") + text
        if self.is_("running"):
            return "below a unit that it joins, on the same stack"
        try:
            owner = read_word(self.pool + self.layout["pool.lane_owner"])
            index = read_int(owner + self.layout["worker.index"]) if owner else None
        except gdb.MemoryError:
            return "home: a pool that is gone"
        return "home: worker %d" % index if index is not None else "home: pool " + hex(self.pool)

    def waits_for(self):
        if not self.is_("blocked"):
            return ""
        waits = self.layout.waits
        text = "waits for " + (waits[self.wait_kind] if self.wait_kind < len(waits) else "something unknown")
        if self.wait_object:
            text += " " + hex(self.wait_object)
        since = seconds_since(self.wait_since)
        return text + (", for %.1f s" % since if since is not None else "")

    def line(self):
        parts = [self.layout.states[self.state]]
        if self.is_("fresh"):
            parts.append("would run " + code_at(self.fn))
        if not self.is_("fresh") and not self.is_("terminated") and self.host not in (0, self.at):
            parts.append("on the stack of " + hex(self.host))
        if self.waits_for():
            parts.append(self.waits_for())
        if not self.is_("terminated"):
            parts.append(self.where())
        return self.who() + ": " + "; ".join(parts)


def code_at(address):
    text = gdb.execute("info symbol %d" % address, to_string=True).split(" in section")[0].strip()
    return hex(address) if text.startswith("No symbol") else text


def seconds_since(ns):
    """The program's clock is ours if it lives on this machine."""
    connection = getattr(gdb.selected_inferior(), "connection", None)
    if connection is None or connection.type != "native":
        return None
    return max(0.0, time.clock_gettime(time.CLOCK_MONOTONIC) - ns / 1e9)


def all_klts(layout):
    klts = []
    initial = read_word(layout["klt.initial"])
    if initial:
        klts.append(Klt(layout, initial))
    at = read_word(layout["klts"])
    while at:
        klts.append(Klt(layout, at))
        at = read_word(at + layout["klt.next"])
    return klts


def all_units():
    layout = Layout()
    runs = {}
    for klt in all_klts(layout):
        if klt.captive and klt.held:
            runs[klt.held] = klt
        elif klt.current:
            runs[klt.current] = klt
    units = []
    slab = read_word(layout["slabs"])
    while slab:
        made = read_int(slab + layout["slab.made"])
        size = layout["unit.size"]
        places = slab + layout["slab.units"]
        data = read(places, made * size)
        for i in range(layout["slab.first"], made):
            unit = Unit(layout, places + i * size, data[i * size : (i + 1) * size])
            if not unit.is_("free"):
                unit.klt = runs.get(unit.at)
                units.append(unit)
        slab = read_word(slab + layout["slab.next"])
    return units


def find_units(text):
    units = all_units()
    if text == "all":
        return units
    found = [u for u in units if text in (u.name, "#%d" % u.id) and text]
    if not found:
        try:
            at = int(gdb.parse_and_eval("(unsigned long)(%s)" % text))
        except gdb.error:
            at = 0
        found = [u for u in units if u.at == at]
    if not found:
        raise gdb.GdbError('No unit "%s": give an address, a name or #id, as `info ults` shows them.' % text)
    return found


# ---- frames ---------------------------------------------------------------------------------------


class UltUnwinder(gdb.unwinder.Unwinder):
    """While a ULT is chosen, what called the thread's innermost frame is the frame that the ULT stopped in."""

    def __init__(self):
        super().__init__("weft-ult")
        self.unit = None
        self.innermost = None
        self.thread = None  # that was selected, where another one stands in its place

    def choose(self, unit):
        """On the selected thread."""
        self.unit = None
        gdb.invalidate_cached_frames()
        if unit is not None:
            frame = gdb.newest_frame()
            if not frame.architecture().name().startswith("i386:x86-64"):
                raise gdb.GdbError("ULTs can be unwound on x86-64 only.")
            self.innermost = (int(frame.read_register("rsp")), int(frame.read_register("rip")))
            self.unit = unit
            gdb.invalidate_cached_frames()
            gdb.newest_frame().select()

    def select(self, unit):
        """For the user, who goes on with it."""
        self.unselect()
        lender = unit.lender()
        if lender is not None:
            self.thread = gdb.selected_thread()
            lender.switch()
        self.choose(unit)

    def unselect(self):
        self.choose(None)
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
        self.thread = None

    def forget(self):
        self.unit = self.thread = None

    def __call__(self, pending):
        if self.unit is None:
            return None
        sp, pc = pending.read_register("rsp"), pending.read_register("rip")
        if (int(sp), int(pc)) != self.innermost:
            return None

        class FrameId:
            pass

        frame = FrameId()
        # gdb wants stacks to grow one way: the thread's own frame counts as one below the ULT's.
        frame.sp = gdb.Value(self.unit.sp - 16).cast(sp.type)
        frame.pc = pc
        info = pending.create_unwind_info(frame)
        info.add_saved_register("rsp", gdb.Value(self.unit.sp).cast(sp.type))
        info.add_saved_register("rbp", gdb.Value(self.unit.bp).cast(pending.read_register("rbp").type))
        info.add_saved_register("rip", gdb.Value(self.unit.ip).cast(pc.type))
        return info


ult_unwinder = UltUnwinder()
gdb.unwinder.register_unwinder(None, ult_unwinder, replace=True)
gdb.events.cont.connect(lambda _: ult_unwinder.forget())


def thread_with(tid):
    for thread in gdb.selected_inferior().threads():
        if tid in thread.ptid:
            return thread
    return None


def first_of_ult():
    """The number of the ULT's innermost frame: above the thread's, which counts once for each call that is inlined there."""
    frame, number = gdb.newest_frame(), 1
    while frame.type() == gdb.INLINE_FRAME:
        frame, number = frame.older(), number + 1
    return number


def print_frames(skip):
    """The backtrace of the chosen thread, without its first frames."""
    text = gdb.execute("with width 0 -- backtrace -no-filters", to_string=True)
    for line in text.splitlines():
        if not line.startswith("#"):
            print("  " + line)
            continue
        number, rest = line[1:].split(None, 1)
        # The return address below the outermost frame is 0.
        if int(number) >= skip and not re.match("0x0+ in ", rest):
            print("  #%-3d %s" % (int(number) - skip, rest))


def backtrace(unit):
    print(unit.line())
    old_thread = gdb.selected_thread()
    old_unit = ult_unwinder.unit
    try:
        if unit.klt:
            thread = thread_with(unit.klt.tid)
            if thread is None:
                print("  (its thread is gone)")
                return
            ult_unwinder.choose(None)
            thread.switch()
            print_frames(0)
        elif unit.is_("ready") or unit.is_("blocked"):
            ult_unwinder.choose(unit)
            print_frames(first_of_ult())
        elif unit.is_("running"):
            print("  (its frames are shown with the unit that it joins)")
        else:
            print("  (it has no frames)")
    finally:
        ult_unwinder.choose(None)
        if old_thread is not None and old_thread.is_valid():
            old_thread.switch()
        if old_unit is not None:
            ult_unwinder.choose(old_unit)


# ---- commands -------------------------------------------------------------------------------------


class InfoUlts(gdb.Command):
    """List Weft's work units: name, state, worker, and what they wait for."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        units = all_units()
        for unit in units:
            print(unit.line())
        if not units:
            print("There are no work units: Weft is not initialised.")


class Weft(gdb.Command):
    """Look at Weft's work units: weft ults, weft bt, weft select."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class WeftBacktrace(gdb.Command):
    """Print backtraces of ULTs: weft bt ULT ... | all. ULT is an address, a name, or #id."""

    def __init__(self):
        super().__init__("weft bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        texts = gdb.string_to_argv(argument)
        if not texts:
            raise gdb.GdbError("Which one? weft bt ULT ..., or weft bt all.")
        for text in texts:
            for unit in find_units(text):
                backtrace(unit)
                print("")


class WeftSelect(gdb.Command):
    """Show a ULT that is suspended in bt, up, frame and info locals: weft select ULT; none: the thread again.
    The thread's innermost frame stays #0; the ULT's frames are above it. The thread is the lender of a ULT that has
    an identity of its own: print shows its thread-local variables."""

    def __init__(self):
        super().__init__("weft select", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        texts = gdb.string_to_argv(argument)
        if not texts:
            ult_unwinder.unselect()
            return
        unit = find_units(texts[0])[0]
        if unit.klt:
            raise gdb.GdbError("It runs on LWP %d: use `thread`." % unit.klt.tid)
        if not (unit.is_("ready") or unit.is_("blocked")):
            raise gdb.GdbError("It has no frames of its own: " + unit.line())
        ult_unwinder.select(unit)
        gdb.execute("frame %d" % first_of_ult())


InfoUlts("info ults")
Weft()
InfoUlts("weft ults")
WeftBacktrace()
WeftSelect()
