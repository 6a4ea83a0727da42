// Package harness is harness.hpp for the Go programs: the same command line, the same way to time,
// the same line of JSON. The CPUs are set by run.py, because a Go program cannot pin its threads.
package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Benchmark is set by the linker (-X).
var Benchmark = "?"

// Setup is the command line.
type Setup struct {
	Workers int
	Seconds float64
	Params  map[string]string
}

// Sample is one measurement: Value in the unit that is reported.
type Sample struct {
	Value, CPU float64
}

// Fail ends the program: the result would be wrong.
func Fail(what string) {
	fmt.Fprintf(os.Stderr, "%s/go: FAILED: %s\n", Benchmark, what)
	os.Exit(1)
}

// Check fails unless ok.
func Check(ok bool, what string) {
	if !ok {
		Fail(what)
	}
}

// Parse reads the command line; params holds all parameters with their defaults.
func Parse(params map[string]string) *Setup {
	setup := &Setup{Workers: 1, Seconds: 0.25, Params: params}
	args := os.Args[1:]
	Check(len(args)%2 == 0, "options come in pairs")
	for ; len(args) > 0; args = args[2:] {
		switch args[0] {
		case "--workers":
			setup.Workers, _ = strconv.Atoi(args[1])
		case "--seconds":
			setup.Seconds, _ = strconv.ParseFloat(args[1], 64)
		case "--param":
			key, value, _ := strings.Cut(args[1], "=")
			_, known := params[key]
			Check(known, "unknown parameter")
			params[key] = value
		default:
			Fail("unknown option; known: --workers --seconds --param")
		}
	}
	runtime.GOMAXPROCS(setup.Workers)
	return setup
}

// Int is the value of a numeric parameter.
func (s *Setup) Int(key string) int {
	value, err := strconv.Atoi(s.Params[key])
	Check(err == nil, "number expected")
	return value
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// TimeOnce runs body once; value in seconds.
func TimeOnce(body func()) Sample {
	cpu := cpuSeconds()
	start := time.Now()
	body()
	return Sample{time.Since(start).Seconds(), cpuSeconds() - cpu}
}

// TimePerOp gives nanoseconds per operation; batch(n) runs n rounds of ops operations each.
func (s *Setup) TimePerOp(ops float64, batch func(n int)) Sample {
	batch(1)
	n := 1
	sample := TimeOnce(func() { batch(n) })
	for sample.Value < 0.75*s.Seconds {
		scale := s.Seconds / sample.Value
		if scale > 10 {
			n *= 10
		} else {
			n = int(float64(n)*scale) + 1
		}
		sample = TimeOnce(func() { batch(n) })
	}
	sample.Value *= 1e9 / (ops * float64(n))
	return sample
}

// TimeCalls gives the mean time of a call, in seconds, after one call as a warm-up.
func (s *Setup) TimeCalls(warm, call func()) Sample {
	warm()
	total, runs := Sample{}, 0.0
	for total.Value < s.Seconds {
		one := TimeOnce(call)
		total.Value += one.Value
		total.CPU += one.CPU
		runs++
	}
	return Sample{total.Value / runs, total.CPU / runs}
}

// Sides checks the parameter `sides` (see team.hpp), and runs a goroutine as it says: "apart" locks it
// to a thread of its own, which is as near as Go comes to a place for a goroutine.
func (s *Setup) Sides() func(body func()) {
	sides := s.Params["sides"]
	Check(sides == "together" || sides == "apart" || sides == "free", "sides: together, apart, free")
	Check((sides == "together") == (s.Workers == 1), "sides=together is for one worker")
	return func(body func()) {
		if sides == "apart" {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		body()
	}
}

// Team runs body(index) in so many goroutines, and returns when all have ended. They start when all
// are there.
func Team(goroutines int, body func(index int)) {
	var there, ended sync.WaitGroup
	there.Add(goroutines)
	ended.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go func(index int) {
			there.Done()
			there.Wait()
			body(index)
			ended.Done()
		}(i)
	}
	ended.Wait()
}

// Report prints one result; more are parameters of this row alone.
func (s *Setup) Report(unit string, sample Sample, more map[string]string) {
	params := map[string]string{}
	for key, value := range s.Params {
		params[key] = value
	}
	for key, value := range more {
		params[key] = value
	}
	line, err := json.Marshal(map[string]any{
		"benchmark": Benchmark, "library": "go", "workers": s.Workers, "params": params,
		"unit": unit, "value": sample.Value, "cpu_s": sample.CPU, "version": runtime.Version(),
	})
	Check(err == nil, "JSON")
	fmt.Println(string(line))
}
