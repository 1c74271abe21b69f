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

func streamMessage(ctx context.Context, lim *aimd.Limiter, client anthropic.Client, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	return aimd.Value(ctx, lim, func(ctx context.Context) (*anthropic.Message, error) {
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

// 529 at the head of a stream is tried again.
func TestAnthropicStream(t *testing.T) {
	const events = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"any\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t,
			answer{529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			answer{200, map[string]string{"Content-Type": "text/event-stream"}, events})
		lim := newLimiter(t)
		got, err := streamMessage(t.Context(), lim, anthropicOn(tr), question)
		require.NoError(t, err)
		require.Equal(t, "hello", got.Content[0].Text)
		require.Equal(t, 2, *calls)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
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
		lim := newLimiter(t)
		got, err := message(t.Context(), lim, anthropicOn(tr), question)
		require.NoError(t, err)
		require.Equal(t, "hello", got.Content[0].Text)
		require.Equal(t, 3, *calls)
		require.EqualValues(t, 2, lim.Snapshot().Overloads)
	})
}
