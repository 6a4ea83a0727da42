#!/usr/bin/env python3
"""Runs the benchmarks, each library alternated with Weft, and writes results.json and report.html.

    bench/run.py [--only fib,uts] [--libraries weft,tbb] [--rounds 7] [--quick]

A program measures once per process and prints one line of JSON per result (see harness.hpp).
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import matrix
import report

PATIENCE = 60  # a peer whose one run takes longer than this (s) is measured once
LONG = 3       # a case whose runs take longer than this (s) runs Weft once per round
TIMEOUT = 900


class Rows:
    """Values gathered so far, by what they belong to."""

    def __init__(self):
        self.rows = {}
        self.failures = {}

    @staticmethod
    def key(result):
        return (result["benchmark"], result["library"], result["workers"],
                tuple(sorted(result["params"].items())))

    def add(self, result):
        row = self.rows.setdefault(self.key(result), {"values": [], "cpu": [], "ideal": [], "last": result})
        row["values"].append(result["value"])
        row["cpu"].append(result["cpu_s"])
        row["ideal"].append(result.get("ideal", 0))
        row["last"] = result

    def fail(self, benchmark, library, workers, params, error):
        result = {"benchmark": benchmark, "library": library, "workers": workers, "params": params}
        self.failures.setdefault(self.key(result), dict(result, error=error))

    def failed(self, benchmark, library, workers, params):
        return (benchmark, library, workers, tuple(sorted(params.items()))) in self.failures

    def table(self):
        rows = []
        for (benchmark, library, workers, params), row in self.rows.items():
            values = row["values"]
            rows.append({
                "benchmark": benchmark, "library": library, "workers": workers,
                "params": dict(params), "unit": row["last"]["unit"],
                "median": statistics.median(values), "min": min(values), "max": max(values),
                "runs": len(values), "cpu_s": statistics.median(row["cpu"]),
                "ideal": statistics.median(row["ideal"]),
                "version": row["last"]["version"]})
        for failure in self.failures.values():
            rows.append({
                "benchmark": failure["benchmark"], "library": failure["library"],
                "workers": failure["workers"], "params": failure["params"], "unit": "",
                "median": None, "min": None, "max": None, "runs": 0, "cpu_s": None, "ideal": None,
                "version": "FAILED: " + failure["error"]})
        order = {name: i for i, name in enumerate(matrix.TITLES)}
        libraries = {name: i for i, name in enumerate(matrix.LIBRARIES)}
        rows.sort(key=lambda row: (order[row["benchmark"]], sorted(row["params"].items()),
                                   row["workers"], libraries[row["library"]]))
        return rows


class Runner:
    def __init__(self, options, rows):
        self.options = options
        self.rows = rows
        self.bin = options.build / "bench" / "bin"
        self.cpus = sorted(os.sched_getaffinity(0))

    def program(self, benchmark, library):
        return self.bin / f"bench_{benchmark}_{library}"

    def run(self, benchmark, library, workers, params):
        """Runs one program once; returns the seconds it took, or None if it failed."""
        params = {**params, **matrix.SMALLER.get((benchmark, library), {})}
        if self.rows.failed(benchmark, library, workers, params):
            return None
        command = [str(self.program(benchmark, library)), "--workers", str(workers),
                   "--seconds", str(self.options.seconds)]
        for key, value in params.items():
            command += ["--param", f"{key}={value}"]
        cpus = self.cpus[:matrix.cpus(benchmark, workers, params)]
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT,
                                  preexec_fn=lambda: os.sched_setaffinity(0, cpus), check=False)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            error = "" if done.returncode == 0 and lines else (
                done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            lines, error = [], f"more than {TIMEOUT} s"
        except ValueError:
            lines, error = [], "output is not JSON"
        if error:
            self.rows.fail(benchmark, library, workers, params, error)
            print(f"  FAILED {benchmark} {library} {params}: {error}", flush=True)
            return None
        for line in lines:
            self.rows.add(line)
        return time.monotonic() - start

    def case(self, benchmark, workers, params):
        peers = [library for library in self.options.libraries
                 if library != "weft" and self.program(benchmark, library).exists()
                 and matrix.reason_left_out(benchmark, params, library) is None]
        has_weft = "weft" in self.options.libraries and self.program(benchmark, "weft").exists()
        print(f"{benchmark} workers={workers} {params}: "
              f"{'weft against ' if has_weft else ''}{' '.join(peers)}", flush=True)
        if not has_weft and not peers:
            print("  left out: not built (see bench/README.md)")
            return
        slow = set()
        for _ in range(self.options.rounds):
            took = self.run(benchmark, "weft", workers, params) if has_weft else None
            fresh = True  # Weft has just run: the first peer needs no other run before it
            for library in [library for library in peers if library not in slow]:
                if has_weft and not fresh and (took or 0) < LONG:
                    self.run(benchmark, "weft", workers, params)
                fresh = False
                if (self.run(benchmark, library, workers, params) or 0) > PATIENCE:
                    slow.add(library)


def machine():
    model = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "CPU": f"{model}, {len(os.sched_getaffinity(0))} usable of {os.cpu_count()}",
        "memory": f"{memory:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load average at start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def peers_found(build):
    """The libraries that the build found: name → version; and those it left out."""
    found, left_out = {}, []
    for line in (build / "bench" / "peers.txt").read_text().splitlines():
        name, _, version = line.partition("\t")
        if version:
            found[name] = version
        else:
            left_out.append(name)
    return found, left_out


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--build", type=pathlib.Path, default=root / "build" / "release",
                        help="where the programs were built (default: build/release)")
    parser.add_argument("--output", type=pathlib.Path, default=root / "build" / "bench",
                        help="where the results go (default: build/bench)")
    parser.add_argument("--only", default="", help="benchmarks, separated by commas")
    parser.add_argument("--where", default="", help="only cases with this parameter: tree=T1L")
    parser.add_argument("--workers", type=int, help="only cases with so many workers")
    parser.add_argument("--libraries", default=",".join(matrix.LIBRARIES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.15, help="to measure, where it repeats")
    parser.add_argument("--quick", action="store_true",
                        help="one round, short measurements, no tree but T1: does everything work?")
    options = parser.parse_args()
    options.libraries = options.libraries.split(",")
    options.only = options.only.split(",") if options.only else list(matrix.TITLES)
    unknown = [name for name in options.only if name not in matrix.TITLES]
    unknown += [name for name in options.libraries if name not in matrix.LIBRARIES]
    if unknown:
        parser.error("unknown: " + " ".join(unknown))
    if options.quick:
        options.rounds, options.seconds = 1, 0.02
    return options


def quick(benchmark, params):
    """A smaller case for --quick, or None to skip it."""
    if benchmark == "uts" and params["tree"] != "T1":
        return None
    smaller = {"fib": {"n": "25"}, "idle_cpu": {"for": "2"}, "memory_per_ult": {"n": "20000"},
               "timer_lateness": {"n": "20000", "for": "1"}, "omp_task_fib": {"n": "20"},
               "omp_cholesky": {"n": "4"}, "omp_nas_ep": {"class": "S"}}
    return {**params, **smaller.get(benchmark, {})}


def main():
    options = parse()
    found, left_out = peers_found(options.build)
    for library in left_out:
        print(f"{library}: left out (not found when the build was configured)")
    description = machine()
    rows = Rows()
    runner = Runner(options, rows)
    for benchmark, workers, params in matrix.cases():
        if options.quick:
            params = quick(benchmark, params)
        if benchmark not in options.only or params is None:
            continue
        if options.where and options.where not in [f"{k}={v}" for k, v in params.items()]:
            continue
        if options.workers not in (None, workers):
            continue
        if matrix.cpus(benchmark, workers, params) > len(runner.cpus):
            print(f"{benchmark} workers={workers}: left out, fewer CPUs")
            continue
        runner.case(benchmark, workers, params)
        write(options, rows, description, found, left_out)  # a long run may be stopped half-way
    description["load average at end"] = " ".join(f"{load:.2f}" for load in os.getloadavg())
    write(options, rows, description, found, left_out)
    print(f"{options.output / 'report.html'}")
    return 1 if rows.failures else 0


def write(options, rows, description, found, left_out):
    options.output.mkdir(parents=True, exist_ok=True)
    table = rows.table()
    (options.output / "results.json").write_text(json.dumps(table, indent=1) + "\n")
    (options.output / "report.html").write_text(
        report.page(table, description, found, left_out))


if __name__ == "__main__":
    sys.exit(main())
