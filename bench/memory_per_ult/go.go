// Goroutines that wait for one channel.
package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"weft/bench/harness"
)

func residentKiB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	harness.Check(err == nil, "/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages*os.Getpagesize()) / 1024
}

func main() {
	setup := harness.Parse(map[string]string{"n": "1000000"})
	n := setup.Int("n")
	var started, ended atomic.Int64
	release := make(chan struct{})
	before := residentKiB()
	create := harness.TimeOnce(func() {
		for i := 1; i <= n; i++ {
			go func() {
				started.Add(1)
				<-release
				ended.Add(1)
			}()
			for i%256 == 0 && started.Load() < int64(i) {
				runtime.Gosched()
			}
		}
		for started.Load() < int64(n) {
			runtime.Gosched()
		}
	})
	resident := harness.Sample{Value: (residentKiB() - before) / float64(n), CPU: create.CPU}
	create.Value *= 1e9 / float64(n)
	close(release)
	for ended.Load() < int64(n) {
		runtime.Gosched()
	}
	setup.Report("KiB", resident, map[string]string{"what": "resident"})
	setup.Report("ns", create, map[string]string{"what": "create"})
}
