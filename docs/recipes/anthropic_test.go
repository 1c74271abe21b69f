package recipes

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

func message(ctx context.Context, lim *aimd.Limiter, client anthropic.Client, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	return aimd.Value(ctx, lim, func(ctx context.Context) (*anthropic.Message, error) {
		return client.Messages.New(ctx, params, option.WithMaxRetries(0)) // the limiter retries
	})
}

func TestAnthropic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t,
			answer{529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			answer{429, map[string]string{"Retry-After": "3"}, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`},
			answer{200, nil, `{"id":"1","type":"message","role":"assistant","model":"any","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}`})
		lim, err := aimd.New()
		require.NoError(t, err)
		client := anthropic.NewClient(option.WithAPIKey("key"), option.WithBaseURL("http://service.example/"), option.WithHTTPClient(&http.Client{Transport: tr}))
		got, err := message(t.Context(), lim, client, anthropic.MessageNewParams{
			Model: "any", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
		})
		require.NoError(t, err)
		require.Equal(t, "hello", got.Content[0].Text)
		require.Equal(t, 3, *calls)
		require.EqualValues(t, 2, lim.Snapshot().Overloads)
	})
}
