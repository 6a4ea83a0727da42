// A goroutine per node, results through a channel, as in the original.
package main

import "weft/bench/harness"

func skynet(result chan int, first, size int) {
	if size == 1 {
		result <- first
		return
	}
	children := make(chan int, 10)
	for i := 0; i < 10; i++ {
		go skynet(children, first+i*(size/10), size/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	result <- sum
}

func main() {
	setup := harness.Parse(map[string]string{})
	walk := func() {
		result := make(chan int)
		go skynet(result, 0, 1000000)
		harness.Check(<-result == 499999500000, "sum of the leaves")
	}
	sample := setup.TimeCalls(walk, walk)
	sample.Value *= 1e3
	setup.Report("ms", sample, nil)
}
