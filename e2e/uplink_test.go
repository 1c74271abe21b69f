package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// uplinkBits is what the link carries, in bits a second; ethernet, IP and TCP take a part.
	uplinkBits = 100e6
	payload    = 1448. / 1514
	// thinking is how long the store takes for an object when it has all of it.
	thinking = 60 * time.Millisecond
	// onTheLink is how long an object takes alone on the link, knee how many uploads at a time
	// fill the link: more uploads only wait for each other.
	onTheLink = time.Duration(8 * objectSize * 1514 / 1448 * 1000 / (uplinkBits / 1e6))
	knee      = float64(thinking+onTheLink) / float64(onTheLink)
)

var uplinkObjects = amount(1000, 500)

// Uploads over a link that a dozen uploads fill. No upload is refused, and with more uploads at
// a time each takes longer.
func TestUplink(t *testing.T) {
	ctx := begin(t)
	enter := namespace(ctx, t)
	judge(t, cost{span: 1.05, attempts: 1, slower: 8, peak: 8 * knee}, onlyProbe, func(t *testing.T, w law) cost {
		var u uploaded
		if enter != nil {
			u = uploadInside(ctx, t, enter, w)
		} else {
			u = uploadHere(ctx, t, w)
		}
		require.Equal(t, uplinkObjects, u.Stored)
		optimum := time.Duration(uplinkObjects)*onTheLink + thinking
		got := cost{
			span: ratio(u.Took, optimum), attempts: float64(u.Attempts) / float64(uplinkObjects),
			slower: ratio(u.Median, thinking+onTheLink), peak: float64(u.Most),
		}
		figures.log(t, "%v, %v, %.0f Mbit/s of %.0f, where %.0f uploads fill the link", got, u.Took.Round(10*time.Millisecond),
			8*float64(uplinkObjects)*objectSize/u.Took.Seconds()/1e6, payload*uplinkBits/1e6, knee)
		return got
	})
}

// uploadHere uploads in this process, through a listener that reads no faster than the link.
func uploadHere(ctx context.Context, t *testing.T, w law) uploaded {
	t.Helper()
	s, err := startSink("127.0.0.1:0", uplinkBits/8*payload)
	require.NoError(t, err)
	defer s.stop()
	u, err := s.fill(ctx, w)
	require.NoError(t, err)
	return u
}

// uploadInside uploads in a process in a network namespace of its own.
func uploadInside(ctx context.Context, t *testing.T, enter []string, w law) (u uploaded) {
	t.Helper()
	cmd := exec.CommandContext(ctx, enter[0], append(enter[1:], throttle+` && exec "$0"`, os.Args[0])...)
	cmd.Env = append(os.Environ(), role+"="+uplinkRole, uplinkLaw+"="+strconv.Itoa(w.index()))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &u))
	return u
}

// namespace is the command that runs a shell's text in a network namespace of its own,
// or nil if the system allows no namespace, or no tc in it.
func namespace(ctx context.Context, t *testing.T) []string {
	t.Helper()
	enter := []string{"unshare", "--net", "sh", "-c"}
	if os.Geteuid() != 0 {
		enter = []string{"unshare", "--net", "--map-root-user", "sh", "-c"}
	}
	if out, err := exec.CommandContext(ctx, enter[0], append(enter[1:], throttle)...).CombinedOutput(); err != nil {
		t.Logf("the link is in the test, not in the kernel: %v: %s", err, out)
		return nil
	}
	t.Log("the link is tc's in a network namespace")
	return enter
}
