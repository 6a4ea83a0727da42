// 256 goroutines, joined through a channel each, or (by_scheduler) through a WaitGroup.
package main

import (
	"runtime"
	"sync"
	"weft/bench/harness"
)

const inFlight = 256

var (
	done  int // one P: no two goroutines run at once, but a goroutine may be preempted
	mutex sync.Mutex
)

func body(yields bool) {
	if yields {
		runtime.Gosched()
	}
	mutex.Lock()
	done++
	mutex.Unlock()
}

func joinEach(yields []bool, newest bool) {
	var ended [inFlight]chan struct{}
	for i := range ended {
		ended[i] = make(chan struct{})
		go func(yields bool, ended chan struct{}) {
			body(yields)
			close(ended)
		}(yields[i], ended[i])
	}
	for i := range ended {
		if newest {
			i = inFlight - 1 - i
		}
		<-ended[i]
	}
}

func joinGroup(yields []bool) {
	var group sync.WaitGroup
	group.Add(inFlight)
	for i := 0; i < inFlight; i++ {
		go func(yields bool) {
			body(yields)
			group.Done()
		}(yields[i])
	}
	group.Wait()
}

func main() {
	setup := harness.Parse(map[string]string{"d": "0", "join": "oldest_first"})
	percent := setup.Int("d")
	yields := make([]bool, inFlight)
	for i := range yields {
		yields[i] = (i+1)*percent/100 > i*percent/100
	}
	join := setup.Params["join"]
	sample := setup.TimePerOp(inFlight, func(n int) {
		for ; n > 0; n-- {
			done = 0
			if join == "by_scheduler" {
				joinGroup(yields)
			} else {
				joinEach(yields, join == "newest_first")
			}
			harness.Check(done == inFlight, "not every goroutine has run once")
		}
	})
	setup.Report("ns", sample, nil)
}
