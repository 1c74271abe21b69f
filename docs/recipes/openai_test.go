package recipes

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
)

func complete(ctx context.Context, lim *aimd.Limiter, client openai.Client, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return aimd.Value(ctx, lim, func(ctx context.Context) (*openai.ChatCompletion, error) {
		return client.Chat.Completions.New(ctx, params, option.WithMaxRetries(0)) // the limiter retries
	})
}

func TestOpenAI(t *testing.T) {
	const (
		completion = `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}]}`
		tooMany    = `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
		quota      = `{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	)
	params := openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}
	on := func(tr *http.Transport) openai.Client {
		return openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL("http://service.example/"), option.WithHTTPClient(&http.Client{Transport: tr}))
	}
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t, answer{429, map[string]string{"Retry-After": "20"}, tooMany}, answer{500, nil, ""}, answer{200, nil, completion})
		lim, err := aimd.New()
		require.NoError(t, err)
		start := time.Now()
		got, err := complete(t.Context(), lim, on(tr), params)
		require.NoError(t, err)
		require.Equal(t, "hello", got.Choices[0].Message.Content)
		require.Equal(t, 3, *calls)
		require.GreaterOrEqual(t, time.Since(start), 20*time.Second)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
	})
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t, answer{429, nil, quota})
		lim, err := aimd.New()
		require.NoError(t, err)
		_, err = complete(t.Context(), lim, on(tr), params)
		require.ErrorIs(t, err, attempt.ErrQuota)
		require.Equal(t, 1, *calls)
	})
}
