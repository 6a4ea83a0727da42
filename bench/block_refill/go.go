// A system call that Go's own poller does not see: its monitor gives the P away.
package main

import (
	"runtime"
	"sort"
	"sync/atomic"
	"syscall"
	"time"
	"weft/bench/harness"
)

const blocks, firstBlocks = 2000, 100

func main() {
	setup := harness.Parse(map[string]string{"rung": "auto"})
	harness.Check(setup.Workers == 1, "block_refill is for one worker")
	var pipe [2]int
	harness.Check(syscall.Pipe(pipe[:]) == nil, "pipe")
	var reads atomic.Int64
	var began time.Time
	var took []float64
	total := harness.TimeOnce(func() {
		harness.Team(2, func(index int) {
			var one [1]byte
			for i := int64(1); i <= blocks; i++ {
				if index == 0 {
					runtime.Gosched()
					began = time.Now()
					reads.Store(i)
					n, err := syscall.Read(pipe[0], one[:])
					harness.Check(n == 1 && err == nil, "read")
					continue
				}
				for reads.Load() < i {
					runtime.Gosched()
				}
				took = append(took, float64(time.Since(began).Nanoseconds()))
				n, err := syscall.Write(pipe[1], one[:])
				harness.Check(n == 1 && err == nil, "write")
			}
		})
	})
	took = took[firstBlocks:]
	sort.Float64s(took)
	setup.Report("ns", harness.Sample{Value: took[len(took)/2], CPU: total.CPU}, nil)
}
