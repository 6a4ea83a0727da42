// Two goroutines on one P that call runtime.Gosched.
package main

import (
	"runtime"
	"sync"
	"weft/bench/harness"
)

func main() {
	setup := harness.Parse(map[string]string{})
	sample := setup.TimePerOp(2, func(n int) {
		var group sync.WaitGroup
		var done [2]int
		group.Add(2)
		for i := range done {
			go func(done *int) {
				for ; *done < n; *done++ {
					runtime.Gosched()
				}
				group.Done()
			}(&done[i])
		}
		group.Wait()
		harness.Check(done[0] == n && done[1] == n, "number of yields")
	})
	setup.Report("ns", sample, nil)
}
