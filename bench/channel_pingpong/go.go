// Go's own channels.
package main

import "weft/bench/harness"

func main() {
	setup := harness.Parse(map[string]string{"sides": "together", "capacity": "1"})
	place := setup.Sides()
	capacity := setup.Int("capacity")
	sample := setup.TimePerOp(1, func(n int) {
		there, back := make(chan uint64, capacity), make(chan uint64, capacity)
		harness.Team(2, func(self int) {
			place(func() {
				for i := uint64(0); i < uint64(n); i++ {
					if self == 0 {
						there <- i
						harness.Check(<-back == i+1, "what came back")
					} else {
						back <- <-there + 1
					}
				}
			})
		})
	})
	setup.Report("ns", sample, nil)
}
