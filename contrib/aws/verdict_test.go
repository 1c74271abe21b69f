package aimdaws

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		retryAfter, amz, date string
		want                  time.Duration
	}{
		{},
		{retryAfter: "2", want: 2 * time.Second},
		{retryAfter: "0"},
		{retryAfter: "-1"},
		{retryAfter: "soon"},
		{retryAfter: "99999999999999999999", want: math.MaxInt64 / time.Second * time.Second},
		{retryAfter: date(3 * time.Second), want: 3 * time.Second},
		{retryAfter: date(-3 * time.Second)},
		{retryAfter: date(time.Hour), date: date(time.Hour - time.Second), want: time.Second},
		{amz: "20", want: 20 * time.Millisecond},
		{amz: "20", retryAfter: "2", want: 20 * time.Millisecond},
		{amz: "soon", retryAfter: "2", want: 2 * time.Second},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.retryAfter)
		h.Set("X-Amz-Retry-After", c.amz)
		h.Set("Date", c.date)
		require.Equal(t, c.want, retryAfter(h, now), "%+v", c)
	}
}

// What failed before it was sent narrows no window, so nothing paces it: it
// takes the ordinary backoff, whatever its code.
func TestUnsentIsNotPaced(t *testing.T) {
	l, err := aimd.NewReno()
	require.NoError(t, err)
	refused := &smithy.GenericAPIError{Code: "SlowDown"}
	require.True(t, paced(l, refused))
	require.False(t, paced(l, &unsentError{error: refused, times: 1}))
}
