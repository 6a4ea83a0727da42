// time.Sleep; see kernel.hpp.
package main

import (
	"math/rand"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
	"weft/bench/harness"
)

type lateness struct {
	samples []float64 // us
	used    atomic.Int64
}

func (l *lateness) add(late time.Duration) {
	l.samples[l.used.Add(1)-1] = float64(late.Nanoseconds()) / 1e3
}

// CPU time of a wake-up that comes by a yield.
func costOfYield(n, wakes int) float64 {
	turns := wakes/n + 1
	late := lateness{samples: make([]float64, (turns+1)*n)}
	var ended sync.WaitGroup
	ended.Add(n)
	var sample harness.Sample
	for i := 0; i < n; i++ {
		go func(first bool) {
			runtime.Gosched()
			work := func() {
				for turn := 0; turn < turns; turn++ {
					late.add(time.Since(time.Now()))
					runtime.Gosched()
				}
			}
			if first {
				sample = harness.TimeOnce(work)
			} else {
				work()
			}
			ended.Done()
		}(i == 0)
	}
	ended.Wait()
	return sample.CPU / float64(turns*n)
}

func main() {
	setup := harness.Parse(map[string]string{"n": "100000", "rate": "1000", "for": "5"})
	n, rate, seconds := setup.Int("n"), setup.Int("rate"), setup.Int("for")
	late := lateness{samples: make([]float64, rate*seconds*3/2+1000)}
	start := time.Now().Add(time.Second/2 + time.Duration(n)*20*time.Microsecond)
	end := start.Add(time.Duration(seconds) * time.Second)
	period := float64(n) / float64(rate) * 1e9
	var ended sync.WaitGroup
	ended.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			defer ended.Done()
			for turn := 0; ; turn++ {
				at := (float64(turn) + rand.Float64()) * period
				deadline := start.Add(time.Duration(at))
				if !deadline.Before(end) {
					time.Sleep(time.Until(end.Add(time.Second / 5)))
					return
				}
				time.Sleep(time.Until(deadline))
				late.add(time.Since(deadline))
			}
		}()
	}
	harness.Check(time.Now().Before(start), "created before the first deadline")
	time.Sleep(time.Until(start))
	measured := harness.TimeOnce(func() { time.Sleep(time.Until(end)) })
	ended.Wait()
	wakes := int(late.used.Load())
	harness.Check(wakes > 100, "deadlines met")
	cost := costOfYield(n, wakes)
	samples := late.samples[:wakes]
	sort.Float64s(samples)
	row := func(what, unit string, value float64) {
		setup.Report(unit, harness.Sample{Value: value, CPU: measured.CPU}, map[string]string{"what": what})
	}
	row("p50", "us", samples[wakes/2])
	row("p99", "us", samples[wakes*99/100])
	row("max", "us", samples[wakes-1])
	row("cpu", "%", 100*measured.CPU/float64(seconds))
	row("cpu_beyond", "%", 100*(measured.CPU-cost*float64(wakes))/float64(seconds))
}
