// The pipes are read by system calls that block: of os.File Go's poller would take care, as no other library's does. The
// process that answers is this program again, run with other arguments.
package main

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"weft/bench/harness"
)

func spin(turns int) float64 {
	x := 1.0
	for i := 0; i < turns; i++ {
		x = x*0.999999 + 1e-6
	}
	return x
}

func turnsFor(seconds float64) int {
	least := 1.0
	for i := 0; i < 20; i++ {
		least = math.Min(least, harness.TimeOnce(func() { sink = spin(1000000) }).Value)
	}
	return int(seconds / least * 1e6)
}

var sink float64

// Answers on the descriptors from 4 on what is asked for on 3.
func serve(delay time.Duration) {
	type due struct {
		when   time.Time
		number int
	}
	queue := make(chan due, 4096)
	go func() {
		for {
			var number [2]byte
			if n, _ := syscall.Read(3, number[:]); n != 2 {
				os.Exit(0)
			}
			queue <- due{time.Now().Add(delay), int(binary.LittleEndian.Uint16(number[:]))}
		}
	}()
	for next := range queue {
		if left := time.Until(next.when); left > 0 {
			rest := syscall.NsecToTimespec(left.Nanoseconds())
			syscall.Nanosleep(&rest, nil)
		}
		syscall.Write(4+next.number, []byte{0})
	}
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "answer" {
		us, _ := strconv.Atoi(os.Args[2])
		serve(time.Duration(us) * time.Microsecond)
	}
	setup := harness.Parse(map[string]string{"ults": "64", "compute_us": "200", "wait_us": "1000"})
	ults := setup.Int("ults")
	var requests [2]int
	harness.Check(syscall.Pipe2(requests[:], syscall.O_CLOEXEC) == nil, "pipe")
	child := exec.Command(os.Args[0], "answer", setup.Params["wait_us"])
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.ExtraFiles = append(child.ExtraFiles, os.NewFile(uintptr(requests[0]), "requests"))
	answers := make([]int, ults)
	for i := range answers {
		var ends [2]int
		harness.Check(syscall.Pipe2(ends[:], syscall.O_CLOEXEC) == nil, "pipe")
		answers[i] = ends[0]
		child.ExtraFiles = append(child.ExtraFiles, os.NewFile(uintptr(ends[1]), "answers"))
	}
	harness.Check(child.Start() == nil, "the process that answers")
	ask := func(index int) {
		var number [2]byte
		binary.LittleEndian.PutUint16(number[:], uint16(index))
		n, err := syscall.Write(requests[1], number[:])
		harness.Check(n == 2 && err == nil, "write")
		n, err = syscall.Read(answers[index], number[:1])
		harness.Check(n == 1 && err == nil, "read")
	}
	turns := turnsFor(1e-6 * float64(setup.Int("compute_us")))
	rounds := func(count int, round func(index int)) (harness.Sample, float64) {
		sample := harness.TimeOnce(func() {
			harness.Team(ults, func(index int) {
				for i := 0; i < count; i++ {
					round(index)
				}
			})
		})
		return sample, 1e6 * sample.Value / float64(count*ults)
	}
	both := func(index int) {
		spin(turns)
		ask(index)
	}
	alone, _ := rounds(100, func(int) { spin(turns) })
	least := 1e6 * alone.CPU / float64(100*ults*setup.Workers)
	rounds(10, both)
	sample, wall := rounds(int(1+400*setup.Seconds), both)
	for what, value := range map[string]float64{
		"wall": wall, "cpu": sample.CPU / sample.Value * wall, "compute": least} {
		setup.Report("us", harness.Sample{Value: value, CPU: sample.CPU}, map[string]string{"what": what})
	}
	child.Process.Kill()
	child.Wait()
}
