// A goroutine that waits for a channel, while the other P is busy and its own one sleeps.
package main

import (
	"sort"
	"sync/atomic"
	"time"
	"weft/bench/harness"
)

const wakes = 400

func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

func main() {
	setup := harness.Parse(map[string]string{})
	harness.Check(setup.Workers == 2, "wake_latency needs two workers")
	event := make(chan struct{}, 1)
	var ran atomic.Int64
	var when time.Time
	go func() {
		for range event {
			when = time.Now()
			ran.Add(1)
		}
	}()
	var took []float64
	total := harness.TimeOnce(func() {
		for i := int64(0); i < wakes; i++ {
			spin(500 * time.Microsecond)
			start := time.Now()
			event <- struct{}{}
			for ran.Load() == i {
			}
			took = append(took, float64(when.Sub(start).Nanoseconds())/1e3)
		}
	})
	sort.Float64s(took)
	setup.Report("us", harness.Sample{Value: took[len(took)/2], CPU: total.CPU},
		map[string]string{"what": "wake"})
}
