"""What is measured, and what is to be reached. run.py runs it, report.py draws it."""

LIBRARIES = ["weft", "weft_unaware", "weft_worker", "weft_abt", "argobots", "massivethreads", "qthreads", "lace", "libfork",
             "tbb", "boost_fiber", "libgomp", "libomp", "weft_clang", "bolt", "pthread", "go"]

TITLES = {
    "create_join_ult": "Create and join ULTs, 256 in flight",
    "create_join_tasklet": "Create and join tasklets (or tasks), 256 in flight",
    "yield": "Yield between two ULTs on one worker",
    "yield_to": "Yield to a given ULT",
    "fib": "Fork-join: Fibonacci, per task",
    "uts": "Unbalanced tree search, wall time",
    "skynet": "Skynet: a million leaves, ten children per node",
    "mutex_uncontended": "Lock and unlock a mutex nobody else wants",
    "mutex_contended": "Lock and unlock a mutex that others want; time of a round in which each ULT does it once",
    "cond_pingpong": "Condition variables: round trip between two ULTs",
    "barrier": "A barrier, per phase",
    "rwlock_read": "Lock and unlock for reading",
    "channel_pingpong": "Channels: round trip between two ULTs",
    "timer_lateness": "Sleeping until random deadlines",
    "wake_latency": "Waking an idle worker",
    "idle_cpu": "CPU time of an idle process, two workers",
    "memory_per_ult": "A million suspended ULTs",
    "init_finalize": "Start and stop the runtime",
    "preempt_latency": "From waking a unit of high priority to its running, all CPUs busy",
    "packing": "Equal units on fewer workers; time by the ideal one",
    "preempt_cost": "One preemption, from the last instruction of one ULT to the first of the other",
    "preempt_overhead": "Slow-down of ten ULTs per worker that compute, by being preempted",
    "block_refill": "From a blocking read to another ULT running on that core",
    "block_mixed": "64 ULTs that compute and read from pipes, per round of one ULT",
    "block_heat": "Computing while files are written and read",
    "block_overhead": "Slow-down by awareness of blocking where nothing blocks",
    "identity_yield": "Yield between two ULTs with identities of their own, on one worker",
    "identity_create_join": "Create and join ULTs with identities of their own, 256 in flight",
    "identity_preempt": "One preemption of a ULT with an identity of its own",
    "identity_memory": "Memory of a control block that is ready for a ULT",
    "omp_flat": "OpenMP: a construct of a region, empty",
    "omp_nested_8x8": "OpenMP: 8 empty regions of 8 threads each in a region of 8",
    "omp_nested_4x4": "OpenMP: a region that adds 1000 numbers, in a region, per inner one",
    "omp_task_fib": "OpenMP: Fibonacci by tasks, per task",
    "omp_insufficient": "OpenMP: an outer loop with fewer iterations than threads",
    "omp_unbalanced": "OpenMP: inner loops of unequal length",
    "omp_deep": "OpenMP: the same work below more and more levels of regions",
    "omp_fftw": "OpenMP: a loop of two-dimensional transforms by FFTW with OpenMP",
    "omp_blas": "OpenMP: a loop of matrix products by OpenBLAS with OpenMP",
    "omp_cholesky": "OpenMP: Cholesky factorisation by tasks that open regions",
    "omp_nas_cg": "NAS CG: conjugate gradients, a barrier behind each short loop",
    "omp_nas_ep": "NAS EP: random pairs, one region",
    "omp_nas_ft": "NAS FT: three-dimensional Fourier transforms, few large regions",
    "omp_nas_mg": "NAS MG: multigrid, many regions, large and tiny",
}


def cpus(benchmark, workers, params):
    """How many CPUs a case needs: one for each worker, but OpenMP threads may share them."""
    return int(params.get("cpus", workers)) if benchmark.startswith("omp_") else workers


def synchronisation_cases():
    for hold in ("nothing", "yield"):
        for workers in (1, 2):
            yield "mutex_contended", workers, {"ults": "10", "hold": hold}
    sides = ((1, "together"), (2, "apart"), (2, "free"))
    for workers, side in sides:
        yield "cond_pingpong", workers, {"sides": side}
    for ults in ("2", "16"):
        for workers in (1, 2):
            yield "barrier", workers, {"ults": ults}
    yield "rwlock_read", 1, {"ults": "1"}
    for ults in ("1", "10"):
        yield "rwlock_read", 2, {"ults": ults}
    for capacity in ("1", "0"):
        for workers, side in sides:
            yield "channel_pingpong", workers, {"sides": side, "capacity": capacity}
    for rate in ("1000", "10000"):
        yield "timer_lateness", 1, {"n": "100000", "rate": rate, "for": "5"}


def preemption_cases():
    for kind in ("klt_switching", "signal_yield"):
        for mode in ("on", "auto"):
            yield "preempt_latency", 2, {"kind": kind, "mode": mode, "interval_us": "1000"}
    packed = [("8", active) for active in ("1", "2", "3", "5", "8")] + [("28", "1"), ("28", "2"), ("7", "2"), ("3", "2")]
    for threads, active in packed:
        for preemption in ("klt_switching", "signal_yield", "none"):
            yield "packing", 2, {"threads": threads, "active": active, "preemption": preemption}
    for kind in ("signal_yield", "klt_switching"):
        for interval in ("1000", "10000"):
            yield "preempt_cost", 1, {"kind": kind, "interval_us": interval}
    for kind in ("timer", "signal_yield", "klt_switching"):
        for interval in ("1000", "10000"):
            yield "preempt_overhead", 2, {"kind": kind, "interval_us": interval}
    yield "preempt_overhead", 2, {"kind": "auto", "interval_us": "1000"}


def blocking_cases():
    for rung in ("bpf", "perf", "proc"):
        yield "block_refill", 1, {"rung": rung}
    yield "block_mixed", 2, {}
    for part in ("write", "read"):
        yield "block_heat", 2, {"part": part}
    for kernel in ("fib", "uts"):
        for mode in ("auto", "on"):
            yield "block_overhead", 2, {"kernel": kernel, "mode": mode}


def omp_cases():
    """workers: the threads that the program asks for."""
    two = {"cpus": "2"}
    for wait in ("active", "hybrid", "passive"):
        yield "omp_flat", 2, {"what": "parallel", "wait": wait, "identity": "own", **two}
    yield "omp_flat", 2, {"what": "parallel", "wait": "hybrid", "identity": "worker", **two}
    for what in ("barrier", "reduction", "task_barrier"):
        yield "omp_flat", 2, {"what": what, "wait": "hybrid", "identity": "own", **two}
    for what in ("parallel", "barrier", "reduction", "task_barrier"):
        for identity in ("own", "worker"):
            yield "omp_flat", 8, {"what": what, "wait": "hybrid", "identity": identity, **two}
    for wait in ("active", "passive"):
        yield "omp_flat", 8, {"what": "parallel", "wait": wait, "identity": "own", **two}
    for cpus_used in ("1", "2"):
        for wait, identity in (("active", "own"), ("hybrid", "own"), ("passive", "own"), ("hybrid", "worker")):
            yield "omp_nested_8x8", 8, {"wait": wait, "identity": identity, "cpus": cpus_used}
    for identity in ("own", "worker"):
        yield "omp_nested_4x4", 4, {"wait": "hybrid", "identity": identity, **two}
    for workers in (1, 2):
        yield "omp_task_fib", workers, {"n": "27"}
    for outer in ("1", "3", "8", "16"):
        yield "omp_insufficient", 16, {"outer": outer, **two}
    for alpha in ("0.1", "1", "10"):
        yield "omp_unbalanced", 16, {"alpha": alpha, **two}
    for depth in ("2", "3", "4", "5"):
        yield "omp_deep", 4, {"depth": depth, **two}
    for outer in ("1", "3"):
        for n in ("64", "256"):
            yield "omp_fftw", 8, {"outer": outer, "n": n, **two}
        for n in ("128", "512"):
            yield "omp_blas", 8, {"outer": outer, "n": n, **two}
    yield "omp_cholesky", 4, {"n": "12", **two}
    for kernel in ("cg", "ep", "ft", "mg"):
        yield f"omp_nas_{kernel}", 2, {"class": "W", **two}
    for kernel in ("cg", "mg"):  # less work, as many regions
        yield f"omp_nas_{kernel}", 2, {"class": "S", **two}


def cases():
    """Yields (benchmark, workers, params); params are given to the programs as --param."""
    for join in ("oldest_first", "newest_first", "by_scheduler"):
        for percent in ("0", "50", "100"):
            yield "create_join_ult", 1, {"d": percent, "join": join}
    for benchmark in ("create_join_tasklet", "yield", "yield_to", "mutex_uncontended"):
        yield benchmark, 1, {}
    yield from synchronisation_cases()
    yield from preemption_cases()
    for workers in (1, 2):
        yield "fib", workers, {"n": "35"}
        yield "skynet", workers, {}
        yield "uts", workers, {"tree": "T1"}
    for tree in ("T1L", "T3L"):
        for workers in (1, 2):
            yield "uts", workers, {"tree": tree}
    yield "wake_latency", 2, {}
    yield "idle_cpu", 2, {"for": "10"}
    yield "memory_per_ult", 1, {"n": "1000000"}
    for workers in (1, 2):
        yield "init_finalize", workers, {}
    yield from blocking_cases()
    yield "identity_yield", 1, {}
    yield "identity_create_join", 1, {"d": "0", "join": "oldest_first"}
    for kind in ("signal_yield", "klt_switching"):
        yield "identity_preempt", 1, {"kind": kind, "interval_us": "1000"}
    yield "identity_memory", 1, {"n": "1000"}
    yield from omp_cases()


# Where a library would take minutes it gets a smaller problem: the row says so in its params.
SMALLER = {
    ("fib", "boost_fiber"): {"n": "25"},
    ("fib", "qthreads"): {"n": "25"},
    ("fib", "go"): {"n": "30"},
    ("timer_lateness", "pthread"): {"n": "1000"},
}

# Cases that are not run for a library, and why; the report lists them.
LEFT_OUT = [
    ("uts", {"tree": "T1L"}, "qthreads", "more than ten minutes a run; see T1"),
    ("uts", {"tree": "T3L"}, "qthreads", "more than ten minutes a run; see T1"),
    ("uts", {}, "boost_fiber", "microseconds a fiber: minutes even for T1; see fib and skynet"),
    ("uts", {}, "go", "the node kernel is C++, and every library must run the same one"),
    ("fib", {}, "pthread", "15 million kernel threads"),
    ("skynet", {}, "pthread", "1.1 million kernel threads"),
    ("preempt_latency", {"kind": "signal_yield"}, "pthread", "the kernel has one kind of preemption"),
    ("preempt_latency", {"mode": "auto"}, "pthread", "the kernel has one kind of preemption"),
    ("packing", {"preemption": "signal_yield"}, "pthread", "the kernel has one kind of preemption"),
    ("packing", {"preemption": "none"}, "pthread", "the kernel has one kind of preemption"),
    ("cond_pingpong", {"sides": "apart"}, "massivethreads", "it cannot hold a thread on a worker"),
    ("channel_pingpong", {"capacity": "0"}, "qthreads", "a full/empty bit word holds one element"),
]
LEFT_OUT += [(benchmark, {"identity": "worker"}, library, "its threads have an identity each")
             for benchmark in ("omp_flat", "omp_nested_8x8", "omp_nested_4x4") for library in ("libgomp", "libomp")]

# What Weft is to reach: benchmark, workers (None: any), params, and either
#   ("at_most", value)                    in the unit of the row,
#   ("faster", library, factor)           than that library's median, or
#   ("times", params of another row, f)   at most f times Weft's own row with these params, or
#   ("ideal", f)                          at most f times what nobody could be faster than.
TARGETS = [
    ("create_join_ult", 1, {"d": "0", "join": "oldest_first"}, ("at_most", 12)),
    ("create_join_ult", 1, {"d": "0", "join": "oldest_first"}, ("faster", "argobots", 3)),
    ("create_join_ult", 1, {"d": "0", "join": "by_scheduler"}, ("faster", "argobots", 2)),
    ("create_join_ult", 1, {"d": "100", "join": "oldest_first"}, ("faster", "argobots", 2)),
    ("create_join_ult", 1, {"d": "100", "join": "by_scheduler"}, ("faster", "argobots", 2)),
    ("create_join_tasklet", 1, {}, ("at_most", 7)),
    ("create_join_tasklet", 1, {}, ("faster", "argobots", 3)),
    ("yield", 1, {}, ("at_most", 6)),
    ("yield", 1, {}, ("faster", "argobots", 4)),
    ("yield_to", 1, {}, ("at_most", 3)),
    ("fib", 1, {"n": "35"}, ("at_most", 6)),
    ("fib", 2, {"n": "35"}, ("speedup", 1.9)),
    ("memory_per_ult", 1, {"what": "resident"}, ("at_most", 4.6)),
    ("memory_per_ult", 1, {"what": "create"}, ("times", {"what": "bare_loop"}, 1.3)),
    ("mutex_uncontended", 1, {}, ("faster", "pthread", 1)),
    ("mutex_uncontended", 1, {}, ("faster", "argobots", 1)),
    ("mutex_contended", 1, {"hold": "nothing"}, ("at_most", 25)),
    ("mutex_contended", 2, {"hold": "nothing"}, ("at_most", 300)),
    ("channel_pingpong", 1, {"sides": "together"}, ("at_most", 40)),
    ("channel_pingpong", 2, {}, ("faster", "go", 1)),
    ("timer_lateness", 1, {"what": "p99"}, ("times", {"what": "nanosleep_p99"}, 1.2)),
    ("timer_lateness", 1, {"rate": "1000", "what": "cpu_beyond_nanosleep"}, ("at_most", 1)),
    ("idle_cpu", 2, {}, ("at_most", 0.1)),
    ("wake_latency", 2, {"what": "wake"}, ("times", {"what": "futex"}, 1.3)),
    ("init_finalize", None, {"what": "again"}, ("at_most", 500)),
    ("preempt_latency", 2, {"interval_us": "1000", "what": "p99"}, ("at_most", 1100)),
    ("packing", 2, {"preemption": "klt_switching"}, ("at_most", 1.05)),
    ("packing", 2, {"preemption": "signal_yield"}, ("at_most", 1.05)),
    ("preempt_cost", 1, {"kind": "signal_yield", "interval_us": "10000"}, ("faster", "pthread", 1.25)),
    ("preempt_cost", 1, {"kind": "klt_switching", "interval_us": "10000"}, ("faster", "pthread", 1)),
    ("preempt_overhead", 2, {"kind": "signal_yield", "interval_us": "1000"}, ("at_most", 0.014)),
    ("preempt_overhead", 2, {"kind": "klt_switching", "interval_us": "1000"}, ("at_most", 0.02)),
    ("preempt_overhead", 2, {"kind": "signal_yield", "interval_us": "10000"}, ("at_most", 0.001)),
    ("preempt_overhead", 2, {"kind": "klt_switching", "interval_us": "10000"}, ("at_most", 0.002)),
    ("preempt_overhead", 2, {"kind": "auto"}, ("at_most", 0.0005)),
    ("block_refill", 1, {}, ("at_most", 20000)),
    ("block_refill", 1, {"rung": "bpf"}, ("at_most", 10000)),
    # Without it each round takes C + S: so this is 0.9 of the gain (C + S) / C.
    ("block_mixed", 2, {"what": "wall"}, ("times", {"what": "compute"}, 1 / 0.9)),
    ("block_mixed", 2, {"what": "wall"}, ("faster", "pthread", 1)),
    ("block_mixed", 2, {"what": "wall"}, ("faster", "go", 1)),
    ("block_mixed", 2, {"what": "cpu"}, ("faster", "pthread", 1)),
    ("block_mixed", 2, {"what": "cpu"}, ("faster", "go", 1)),
    ("block_heat", 2, {"what": "both"}, ("times", {"what": "bound"}, 1.1)),
    ("block_overhead", 2, {}, ("at_most", 0.005)),
    ("identity_create_join", 1, {}, ("at_most", 150)),
    ("identity_preempt", 1, {"kind": "signal_yield"}, ("times", {"kind": "klt_switching"}, 1)),
    ("identity_memory", 1, {"what": "all"}, ("faster", "pthread", 1 / 1.1)),
    ("identity_memory", 1, {"what": "user"}, ("at_most", 10)),
    ("omp_flat", 2, {"what": "parallel", "wait": "active"}, ("at_most", 250)),
    ("omp_flat", 2, {"what": "parallel", "wait": "hybrid"}, ("at_most", 250)),
    ("omp_flat", 2, {"what": "parallel", "wait": "active"}, ("faster", "libomp", 4)),
    ("omp_flat", 2, {"what": "parallel", "wait": "hybrid"}, ("faster", "libomp", 4)),
    ("omp_flat", 2, {"what": "parallel", "wait": "passive"}, ("faster", "libomp", 1)),
    ("omp_flat", 8, {"wait": "hybrid", "identity": "own"}, ("at_most", 1200)),
    ("omp_flat", 8, {"wait": "hybrid", "identity": "worker"}, ("at_most", 800)),
    ("omp_nested_8x8", 8, {"wait": "hybrid", "identity": "own", "cpus": "1"}, ("at_most", 4000)),
    ("omp_nested_8x8", 8, {"wait": "hybrid", "identity": "own", "cpus": "2"}, ("at_most", 8000)),
    ("omp_nested_8x8", 8, {"wait": "hybrid", "identity": "worker", "cpus": "1"}, ("at_most", 3000)),
    ("omp_nested_8x8", 8, {"wait": "hybrid", "identity": "worker", "cpus": "2"}, ("at_most", 6000)),
    ("omp_nested_4x4", 4, {"identity": "own"}, ("at_most", 1100)),
    ("omp_nested_4x4", 4, {"identity": "worker"}, ("at_most", 800)),
    ("omp_task_fib", 1, {"n": "27"}, ("at_most", 20)),
    ("omp_task_fib", 2, {"n": "27"}, ("at_most", 12)),
    ("omp_insufficient", None, {}, ("ideal", 1.15)),
    ("omp_unbalanced", None, {}, ("ideal", 1.15)),
    ("omp_deep", None, {}, ("ideal", 1.15)),
]
# Where nothing is nested, and nobody waits long: no slower than the others.
TARGETS += [(f"omp_nas_{kernel}", 2, {}, ("faster", library, 0.99))
            for kernel in ("cg", "ep", "ft", "mg") for library in ("libgomp", "libomp")]


# And ahead of each of these in every case of:
AHEAD = {
    "cond_pingpong": ("pthread", "argobots", "boost_fiber"),
    "barrier": ("pthread", "argobots", "boost_fiber"),
    "rwlock_read": ("pthread", "argobots"),
    **{benchmark: ("libgomp", "libomp", "bolt") for benchmark in (
        "omp_nested_8x8", "omp_insufficient", "omp_unbalanced", "omp_deep", "omp_fftw", "omp_blas", "omp_cholesky")},
}
TARGETS += [(benchmark, None, {}, ("faster", library, 1))
            for benchmark, libraries in AHEAD.items() for library in libraries]

# What others have measured elsewhere, for comparison: benchmark, params, value in the unit of the row, what it is.
PREEMPTION_PAPER = "PPoPP 2021"
REFERENCES = [
    (benchmark, {"kind": kind, "interval_us": interval}, value, f"{PREEMPTION_PAPER}, {machine}")
    for benchmark, kind, interval, machine, value in (
        ("preempt_cost", "signal_yield", "10000", "Skylake", 3500),
        ("preempt_cost", "signal_yield", "10000", "KNL", 18000),
        ("preempt_cost", "klt_switching", "10000", "Skylake", 9900),
        ("preempt_cost", "klt_switching", "10000", "KNL", 62000),
        ("preempt_overhead", "timer", "1000", "Skylake", 0.00214),
        ("preempt_overhead", "timer", "1000", "KNL", 0.01648),
        ("preempt_overhead", "timer", "10000", "KNL", 0.00111),
        ("preempt_overhead", "signal_yield", "1000", "Skylake", 0.00332),
        ("preempt_overhead", "signal_yield", "1000", "KNL", 0.02027),
        ("preempt_overhead", "signal_yield", "10000", "KNL", 0.00176),
        ("preempt_overhead", "klt_switching", "1000", "Skylake", 0.00942),
        ("preempt_overhead", "klt_switching", "1000", "KNL", 0.06998),
        ("preempt_overhead", "klt_switching", "10000", "KNL", 0.00468),
    )
]


def within(params, row_params):
    """Whether every one of params is among row_params with the same value."""
    return all(row_params.get(key) == value for key, value in params.items())


def reason_left_out(benchmark, params, library):
    for name, some, who, why in LEFT_OUT:
        if (name, who) == (benchmark, library) and within(some, params):
            return why
    return None


def _limit(goal, row, rows):
    """The value that a goal stands for, given all rows; None if it cannot be told."""
    def median(library, workers, params):
        for other in rows:
            if (other["library"], other["benchmark"], other["workers"]) == (
                    library, row["benchmark"], workers) and within(params, other["params"]):
                return other["median"]
        return None

    if goal[0] == "at_most":
        return goal[1], "≤ %g" % goal[1]
    if goal[0] == "ideal":
        return (row["ideal"] * goal[1], "≤ %g× ideal" % goal[1]) if row["ideal"] else None
    if goal[0] == "faster":
        other, factor, text = median(goal[1], row["workers"], row["params"]), 1 / goal[2], \
            "%g× %s" % (goal[2], goal[1])
    elif goal[0] == "times":
        other, factor, text = median("weft", row["workers"], {**row["params"], **goal[1]}), \
            goal[2], "≤ %g× %s" % (goal[2], " ".join(goal[1].values()))
    else:
        other, factor, text = median("weft", 1, row["params"]), 1 / goal[1], \
            "%g× one worker" % goal[1]
    return None if other is None else (other * factor, text)


def references(row):
    """What others have measured of the like, and what nobody could be faster than: a list of (value, text)."""
    ideal = [(row["ideal"], "ideal")] if row["ideal"] else []
    return ideal + [(value, text) for benchmark, params, value, text in REFERENCES
            if benchmark == row["benchmark"] and within(params, row["params"])]


def targets(row, rows):
    """The targets of Weft's row: a list of (value, text)."""
    found = []
    for benchmark, workers, params, goal in TARGETS:
        if benchmark == row["benchmark"] and workers in (None, row["workers"]) and within(
                params, row["params"]):
            limit = _limit(goal, row, rows)
            if limit is not None:
                found.append(limit)
    if row["benchmark"] == "uts" and row["workers"] == 2 and row["params"]["tree"] != "T1":
        others = [other["median"] for other in rows
                  if other["benchmark"] == "uts" and other["workers"] == 2 and other["runs"]
                  and other["params"] == row["params"] and other["library"] != "weft"]
        if others:
            found.append((min(others), "the best peer"))
    return found
