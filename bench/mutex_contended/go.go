// sync.Mutex.
package main

import (
	"runtime"
	"sync"
	"weft/bench/harness"
)

func main() {
	setup := harness.Parse(map[string]string{"ults": "10", "hold": "nothing"})
	hold := setup.Params["hold"]
	harness.Check(hold == "nothing" || hold == "yield", "hold: nothing, yield")
	yields := hold == "yield"
	goroutines := setup.Int("ults") * setup.Workers
	sample := setup.TimePerOp(1, func(n int) {
		var mutex sync.Mutex
		count := 0
		harness.Team(goroutines, func(int) {
			for i := 0; i < n; i++ {
				mutex.Lock()
				count++
				if yields {
					runtime.Gosched()
				}
				mutex.Unlock()
			}
		})
		harness.Check(count == n*goroutines, "number of pairs")
	})
	setup.Report("ns", sample, nil)
}
