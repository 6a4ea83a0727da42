// sync.Mutex and two sync.Cond.
package main

import (
	"sync"
	"weft/bench/harness"
)

func main() {
	setup := harness.Parse(map[string]string{"sides": "together"})
	place := setup.Sides()
	sample := setup.TimePerOp(1, func(n int) {
		var mutex sync.Mutex
		conds := [2]*sync.Cond{sync.NewCond(&mutex), sync.NewCond(&mutex)}
		turn, turns := 0, 0
		harness.Team(2, func(self int) {
			place(func() {
				mutex.Lock()
				for i := 0; i < n; i++ {
					for turn != self {
						conds[self].Wait()
					}
					turn = 1 - self
					turns++
					conds[1-self].Signal()
				}
				mutex.Unlock()
			})
		})
		harness.Check(turns == 2*n, "number of turns")
	})
	setup.Report("ns", sample, nil)
}
