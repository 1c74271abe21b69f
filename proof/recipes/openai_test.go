package recipes

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

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
		"refused":    captured(t, "openai_429_retry_after"),
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
	return openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL(service), option.WithHTTPClient(&http.Client{Transport: tr}))
}

func openAICall(ctx context.Context, client *http.Client) error {
	c := openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL(service), option.WithHTTPClient(client), option.WithMaxRetries(0))
	_, err := c.Chat.Completions.New(ctx, prompt)
	return err
}
