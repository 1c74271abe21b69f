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

// An error at the head of a stream, or an event in mid-stream, of which anthropic-sdk-go makes an Error of status 200:
// the stream comes to its end, and no text is there twice. A request that is at fault is not sent again.
func TestAnthropicStream(t *testing.T) {
	failed := func(kind string) said {
		return said{200, events, eventsHello + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind + "\",\"message\":\"any\"}}\n\n"}
	}
	for name, c := range map[string]struct {
		first     said
		overloads int
		final     bool
	}{
		"529":              {captured(t, "anthropic_529_overloaded"), 1, false},
		"overloaded_error": {failed("overloaded_error"), 1, false},
		"api_error":        {failed("api_error"), 0, false},
		"at fault":         {failed("invalid_request_error"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, calls := serve(c.first, said{200, events, eventsHello + eventsStop})
				lim := newLimiter(t, aimd.Config{})
				got, err := streamMessage(t.Context(), lim, anthropicOn(tr), question)
				require.EqualValues(t, c.overloads, lim.Snapshot().Overloads)
				if c.final {
					require.ErrorContains(t, err, "failed after 1 attempt")
					require.Equal(t, 1, *calls)
					return
				}
				require.NoError(t, err)
				require.Len(t, got.Content, 1)
				require.Equal(t, "hello", got.Content[0].Text)
				require.Equal(t, 2, *calls)
			})
		})
	}
}

var question = anthropic.MessageNewParams{
	Model: "any", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
}

func anthropicOn(tr *http.Transport) anthropic.Client {
	return anthropic.NewClient(option.WithAPIKey("key"), option.WithBaseURL("http://service.example/"), option.WithHTTPClient(&http.Client{Transport: tr}))
}
