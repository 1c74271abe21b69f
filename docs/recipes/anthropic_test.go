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
	return aimd.Do(ctx, lim, func(ctx context.Context) (*anthropic.Message, error) {
		return client.Messages.New(ctx, params, option.WithMaxRetries(0)) // the limiter retries
	})
}

func streamMessage(ctx context.Context, lim *aimd.Limiter, client anthropic.Client, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	return aimd.Do(ctx, lim, func(ctx context.Context) (*anthropic.Message, error) {
		events := client.Messages.NewStreaming(ctx, params, option.WithMaxRetries(0))
		defer events.Close()
		message := new(anthropic.Message) // a retry begins again
		for events.Next() {
			if err := message.Accumulate(events.Current()); err != nil {
				return nil, err
			}
		}
		return message, events.Err()
	})
}

const (
	eventsHello = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"any\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n"
	eventsStop = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// 529 at the head of a stream is tried again.
func TestAnthropicStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t,
			answer{529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			answer{200, events, eventsHello + eventsStop})
		lim := newLimiter(t, aimd.Config{})
		got, err := streamMessage(t.Context(), lim, anthropicOn(tr), question)
		require.NoError(t, err)
		require.Equal(t, "hello", got.Content[0].Text)
		require.Equal(t, 2, *calls)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
	})
}

// An error event in mid-stream, of which anthropic-sdk-go makes an Error of status 200: 30 of 30 streams come to
// their end, and no text is there twice. A request that is at fault is not sent again.
func TestAnthropicErrorEvents(t *testing.T) {
	failed := func(kind string) string {
		return eventsHello + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind + "\",\"message\":\"any\"}}\n\n"
	}
	for kind, overloads := range map[string]int{"overloaded_error": 30, "api_error": 0} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := newLimiter(t, aimd.Config{})
				for range 30 {
					tr, calls := serve(t, answer{200, events, failed(kind)}, answer{200, events, eventsHello + eventsStop})
					got, err := streamMessage(t.Context(), lim, anthropicOn(tr), question)
					require.NoError(t, err)
					require.Len(t, got.Content, 1)
					require.Equal(t, "hello", got.Content[0].Text)
					require.Equal(t, 2, *calls)
				}
				require.EqualValues(t, 30, lim.Snapshot().Successes)
				require.EqualValues(t, overloads, lim.Snapshot().Overloads)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t, answer{200, events, failed("invalid_request_error")})
		_, err := streamMessage(t.Context(), newLimiter(t, aimd.Config{}), anthropicOn(tr), question)
		var said *anthropic.Error
		require.ErrorAs(t, err, &said)
		require.Equal(t, 200, said.StatusCode)
		require.ErrorContains(t, err, "failed after 1 attempt")
		require.Equal(t, 1, *calls)
	})
}

var question = anthropic.MessageNewParams{
	Model: "any", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
}

func anthropicOn(tr *http.Transport) anthropic.Client {
	return anthropic.NewClient(option.WithAPIKey("key"), option.WithBaseURL("http://service.example/"), option.WithHTTPClient(&http.Client{Transport: tr}))
}

func TestAnthropic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t,
			answer{529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			answer{429, map[string]string{"Retry-After": "3"}, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`},
			answer{200, nil, `{"id":"1","type":"message","role":"assistant","model":"any","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}`})
		lim := newLimiter(t, aimd.Config{})
		got, err := message(t.Context(), lim, anthropicOn(tr), question)
		require.NoError(t, err)
		require.Equal(t, "hello", got.Content[0].Text)
		require.Equal(t, 3, *calls)
		require.EqualValues(t, 2, lim.Snapshot().Overloads)
	})
}
