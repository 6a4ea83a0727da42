// sync.RWMutex.
package main

import (
	"sync"
	"sync/atomic"
	"weft/bench/harness"
)

func main() {
	setup := harness.Parse(map[string]string{"ults": "1"})
	ults := setup.Int("ults")
	sample := setup.TimePerOp(float64(ults), func(n int) {
		var lock sync.RWMutex
		var value atomic.Int64 // as volatile as in the other kernels
		value.Store(1)
		var sum atomic.Int64
		harness.Team(ults*setup.Workers, func(int) {
			mine := int64(0)
			for i := 0; i < n; i++ {
				lock.RLock()
				mine += value.Load()
				lock.RUnlock()
			}
			sum.Add(mine)
		})
		harness.Check(sum.Load() == int64(n*ults*setup.Workers), "number of pairs")
	})
	setup.Report("ns", sample, nil)
}
