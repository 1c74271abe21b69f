package recipes

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

func complete(ctx context.Context, lim *aimd.Limiter, client openai.Client, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return aimd.Do(ctx, lim, func(ctx context.Context) (*openai.ChatCompletion, error) {
		return client.Chat.Completions.New(ctx, params, option.WithMaxRetries(0)) // the limiter retries
	})
}

func stream(ctx context.Context, lim *aimd.Limiter, client openai.Client, params openai.ChatCompletionNewParams) (string, error) {
	return aimd.Do(ctx, lim, func(ctx context.Context) (string, error) {
		events := client.Chat.Completions.NewStreaming(ctx, params, option.WithMaxRetries(0))
		defer events.Close()
		var text strings.Builder // a retry begins again
		for events.Next() {
			for _, choice := range events.Current().Choices {
				text.WriteString(choice.Delta.Content)
			}
		}
		return text.String(), events.Err()
	})
}

const (
	eventHello = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hel\"}}]}\n\n" +
		"data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n"
	eventDone = "data: [DONE]\n\n"
)

var events = map[string]string{"Content-Type": "text/event-stream"}

// A stream that is refused, or breaks off, or ends in an error event, of which openai-go makes a StreamError, is asked
// for again, and no text is there twice. A request that is at fault is not sent again.
func TestOpenAIStream(t *testing.T) {
	const (
		failed = "data: {\"error\":{\"message\":\"The server had an error while processing your request. Sorry about that!\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n"
		fault  = "data: {\"error\":{\"message\":\"The response was filtered\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"content_filter\"}}\n\n"
	)
	for name, first := range map[string]said{
		"refused":    {429, map[string]string{"Retry-After": "2"}, `{"error":{"code":"rate_limit_exceeded"}}`},
		"broken off": {200, events, cutOff + eventHello},
		"failed":     {200, events, eventHello + failed},
		"at fault":   {200, events, eventHello + fault},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, calls := serve(first, said{200, events, eventHello + eventDone})
				lim := newLimiter(t, aimd.Config{})
				text, err := stream(t.Context(), lim, openAIOn(tr), prompt)
				require.Equal(t, name == "refused", lim.Snapshot().Overloads > 0)
				if name == "at fault" {
					require.ErrorContains(t, err, "failed after 1 attempt")
					require.Equal(t, 1, *calls)
					return
				}
				require.NoError(t, err)
				require.Equal(t, "hello", text)
				require.Equal(t, 2, *calls)
			})
		})
	}
}

var prompt = openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}

func openAIOn(tr *http.Transport) openai.Client {
	return openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL("http://service.example/"), option.WithHTTPClient(&http.Client{Transport: tr}))
}

func TestOpenAI(t *testing.T) {
	const (
		completion = `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}]}`
		tooMany    = `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
		daily      = `{"error":{"message":"Rate limit reached for gpt-5 in organization org-1 on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 8h0m0s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
		quota      = `{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	)
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(said{429, map[string]string{"Retry-After": "20"}, tooMany}, said{500, nil, ""}, said{200, nil, completion})
		lim := newLimiter(t, aimd.Config{})
		start := time.Now()
		got, err := complete(t.Context(), lim, openAIOn(tr), prompt)
		require.NoError(t, err)
		require.Equal(t, "hello", got.Choices[0].Message.Content)
		require.Equal(t, 3, *calls)
		require.GreaterOrEqual(t, time.Since(start), 20*time.Second)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
	})
	for name, refusal := range map[string]said{
		"used up":         {429, nil, quota},
		"of a day":        {429, map[string]string{"Retry-After": "28800"}, daily},
		"not to be tried": {429, map[string]string{"X-Should-Retry": "false"}, tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, calls := serve(refusal)
				lim := newLimiter(t, aimd.Config{})
				_, err := complete(t.Context(), lim, openAIOn(tr), prompt)
				require.Equal(t, name != "not to be tried", errors.Is(err, aimd.ErrQuota), "%v", err)
				require.ErrorContains(t, err, "429 Too Many Requests")
				require.Equal(t, 1, *calls)
			})
		})
	}
}
