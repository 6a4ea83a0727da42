// sync.Mutex.
package main

import (
	"sync"
	"weft/bench/harness"
)

func main() {
	setup := harness.Parse(map[string]string{})
	var mutex sync.Mutex
	sample := setup.TimePerOp(1, func(n int) {
		count := 0
		for i := 0; i < n; i++ {
			mutex.Lock()
			count++
			mutex.Unlock()
		}
		harness.Check(count == n, "number of pairs")
	})
	setup.Report("ns", sample, nil)
}
