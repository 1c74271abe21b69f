package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd"
)

const (
	// uploaderRole makes the test binary upload for a while under a limiter of its
	// own: one of the two of TestTwoProcesses.
	uploaderRole = "uploader"
	// These tell it where to, and its objects' prefix.
	uploaderAddress = "E2E_UPLOADER_ADDRESS"
	uploaderName    = "E2E_UPLOADER_NAME"
)

// share is what an uploader did.
type share struct {
	// Objects are the keys and MD5 sums of what it reported as stored.
	Objects map[string]string `json:"objects"`
	// Failed are the errors of all others.
	Failed []string `json:"failed"`
	// Ended is when it was done.
	Ended time.Time `json:"ended"`
	// State is how its limiter stands.
	State aimd.Snapshot `json:"state"`
}

// uploader is the main function of that process: it says "ready", waits for a
// line, and writes its share at the end.
func uploader() int {
	l, err := aimd.NewReno(aimd.WithFactor(0.9))
	if err != nil {
		log.Print(err)
		return 1
	}
	c := limited(os.Getenv(uploaderAddress), transport(0), l)
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		log.Print(err)
		return 1
	}
	s := uploadFor(sharing, os.Getenv(uploaderName), put(c))
	s.State = l.Snapshot()
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		log.Print(err)
		return 1
	}
	return 0
}

// uploadFor uploads from half as many goroutines as the other tests.
func uploadFor(d time.Duration, prefix string, put func(context.Context, string, []byte) error) share {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := share{Objects: map[string]string{}}
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		next atomic.Int64
	)
	deadline := time.Now().Add(d)
	for range goroutines / 2 {
		wg.Go(func() {
			for time.Now().Before(deadline) {
				i := int(next.Add(1))
				key, b := fmt.Sprintf("%s-%05d", prefix, i), body(i, objectSize)
				err := put(ctx, key, b)
				mu.Lock()
				if err == nil {
					s.Objects[key] = sum(b)
				} else {
					s.Failed = append(s.Failed, fmt.Sprintf("%s: %v", key, err))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	s.Ended = time.Now()
	return s
}
