// The main goroutine sleeps; nothing else is there.
package main

import (
	"time"
	"weft/bench/harness"
)

func main() {
	setup := harness.Parse(map[string]string{"for": "10"})
	time.Sleep(500 * time.Millisecond)
	sample := harness.TimeOnce(func() {
		time.Sleep(time.Duration(setup.Int("for")) * time.Second)
	})
	sample.Value = 100 * sample.CPU / sample.Value
	setup.Report("%", sample, nil)
}
