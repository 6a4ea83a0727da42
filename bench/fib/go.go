// A goroutine per fork, joined through a channel.
package main

import "weft/bench/harness"

func fib(n int) int {
	if n < 2 {
		return n
	}
	forked := make(chan int, 1)
	go func() { forked <- fib(n - 1) }()
	called := fib(n - 2)
	return <-forked + called
}

func serial(n int) int {
	a, b := 0, 1
	for ; n > 0; n-- {
		a, b = b, a+b
	}
	return a
}

func main() {
	setup := harness.Parse(map[string]string{"n": "35"})
	n := setup.Int("n")
	sample := setup.TimeCalls(
		func() { harness.Check(fib(20) == serial(20), "fib(20)") },
		func() { harness.Check(fib(n) == serial(n), "fib(n)") })
	sample.Value *= 1e9 / float64(serial(n+1)-1)
	setup.Report("ns", sample, nil)
}
