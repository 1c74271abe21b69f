package grpclimit

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/tag"
)

// Tag returns the options that add tags to the metadata of each call of a client. They are the program's name and
// version, and from the call's context the feature, the criticality and the attempt (package tag). The keys are the
// headers of package tag in lower case, "aimd-client" and so on, with the same rules.
//
// Tags that the metadata has already stay, as with tag.AddHeader. Interceptors that retry must come before these
// options. The errors are the errors of tag.NewTagger.
func Tag(client, version string) ([]grpc.DialOption, error) {
	if _, err := tag.NewTagger(nil, client, version); err != nil {
		return nil, fmt.Errorf("grpclimit: %w", err)
	}
	t := tagger{client: client, version: version}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(t.unary), grpc.WithChainStreamInterceptor(t.stream)}, nil
}

type tagger struct{ client, version string }

func (t tagger) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(t.outgoing(ctx), method, req, reply, cc, opts...)
}

func (t tagger) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(t.outgoing(ctx), desc, cc, method, opts...)
}

func (t tagger) outgoing(ctx context.Context) context.Context {
	tags := tag.FromContext(ctx)
	if t.client != "" {
		tags.Client, tags.Version = t.client, t.version
	}
	// A call in the service of a call that was a retry is a retry too.
	tags.Attempt = max(tags.Attempt, attempt.Number(ctx))
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	header := headerOf(md)
	tag.AddHeader(header, tags)
	for name, values := range header {
		md[strings.ToLower(name)] = values
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// ParseTags returns the tags in the metadata of a call, as tag.FromHeader.
func ParseTags(md metadata.MD) (tag.Tags, error) { return tag.FromHeader(headerOf(md)) }

// headerOf is the part of the metadata with tags, as a header.
func headerOf(md metadata.MD) http.Header {
	header := http.Header{}
	for key, values := range md {
		if strings.HasPrefix(key, "aimd-") {
			header[http.CanonicalHeaderKey(key)] = values
		}
	}
	return header
}
