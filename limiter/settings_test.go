package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func TestSettings(t *testing.T) {
	for want, s := range map[string]limiter.Settings{
		"Min: -2 is not allowed, want a number from 1 to 1048576":                {Window: window.Settings{Min: -2}},
		"QueueBound: -1 is not allowed, want a number from 1, or 0 for none":     {QueueBound: -1},
		"Patience: -1 is not allowed, want a number from 1":                      {Patience: -1},
		"PauseMin: 10s is not allowed, want a duration from 1ms to 5s":           {PauseMin: 10 * time.Second},
		"PauseMax: 2h0m0s is not allowed, want a duration from 1ms to 1h0m0s":    {PauseMax: 2 * time.Hour},
		"MaxRetryAfter: -1s is not allowed, want a duration from 1ms to 24h0m0s": {MaxRetryAfter: -time.Second},
	} {
		_, err := limiter.New[int](aimd.Reno(0.5), s)
		assert.EqualError(t, err, want)
	}
}
