package aimdgrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/tag"
)

// heard returns a client with the options, and the metadata of its calls.
func heard(t *testing.T, opts ...grpc.DialOption) (pb.TestServiceClient, <-chan metadata.MD) {
	t.Helper()
	seen := make(chan metadata.MD, 1)
	server := inMemory(t, &service{
		unary: func(ctx context.Context, _ *pb.SimpleRequest) error {
			md, _ := metadata.FromIncomingContext(ctx)
			seen <- md
			return nil
		},
		duplex: func(s duplexServer) error {
			md, _ := metadata.FromIncomingContext(s.Context())
			seen <- md
			return nil
		},
	})
	client, _ := dial(t, "any", append(opts, server)...)
	return client, seen
}

func tagged(t *testing.T, client, version string) []grpc.DialOption {
	t.Helper()
	opts, err := aimdgrpc.Tag(client, version)
	require.NoError(t, err)
	return opts
}

// Safe Client Behaviour: "Tag requests with client name and version, feature that triggered the request,
// severity of failing the request, retry or initial request"
func TestTagsArriveAtTheServer(t *testing.T) {
	client, seen := heard(t, tagged(t, "photos", "2.1")...)
	want := tag.Tags{Client: "photos", Version: "2.1", Feature: "thumbnails", Criticality: tag.SheddablePlus, Attempt: 2}
	ctx := tag.NewContext(t.Context(), tag.Tags{Client: "other", Feature: "thumbnails", Criticality: tag.SheddablePlus, Attempt: 2})
	check := func() {
		t.Helper()
		md := <-seen
		assert.Equal(t, []string{"photos"}, md["aimd-client"])
		assert.Equal(t, []string{"sheddable-plus"}, md["aimd-criticality"])
		got, err := aimdgrpc.ParseTags(md)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	require.NoError(t, call(ctx, client))
	check()
	stream, err := client.FullDuplexCall(ctx)
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Error(t, err)
	check()
}

func TestTagsLeaveOtherMetadataAlone(t *testing.T) {
	client, seen := heard(t, tagged(t, "photos", "2.1")...)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "mine", "1", "Aimd-Client", "relayed", "mine", "2", "aimd-attempt", "1")
	ctx = tag.NewContext(ctx, tag.Tags{Attempt: 2})
	require.NoError(t, call(ctx, client))
	md := <-seen
	assert.Equal(t, []string{"1", "2"}, md["mine"])
	assert.Equal(t, []string{"relayed"}, md["aimd-client"])
	assert.Empty(t, md["aimd-client-version"], "ours would not be that client's")
	assert.Equal(t, []string{"2"}, md["aimd-attempt"], "it is a retry now")
	out, _ := metadata.FromOutgoingContext(ctx)
	assert.Equal(t, metadata.MD{"mine": {"1", "2"}, "aimd-client": {"relayed"}, "aimd-attempt": {"1"}}, out, "the caller's own is not changed")
}

// gRPC fails a call whose metadata is not ASCII; a tag must not make that happen.
func TestTagsThatCannotBeSentAreCleaned(t *testing.T) {
	client, seen := heard(t, tagged(t, "", "")...)
	require.NoError(t, call(tag.NewContext(t.Context(), tag.Tags{Client: "größe\n", Feature: "a b", Criticality: 9}), client))
	md := <-seen
	got, err := aimdgrpc.ParseTags(md)
	require.NoError(t, err)
	assert.Equal(t, tag.Tags{Client: "gr__e_", Feature: "a_b"}, got)
}

func TestTagRefusesNamesThatCannotBeSent(t *testing.T) {
	_, err := aimdgrpc.Tag("my client", "1")
	assert.ErrorContains(t, err, `client: "my client" is not allowed, want `)
	_, err = aimdgrpc.Tag("", "1")
	assert.ErrorContains(t, err, `version: "1" without a client is not allowed`)
	_, err = aimdgrpc.Tag("client", "1;")
	assert.ErrorContains(t, err, `version: "1;" is not allowed, want `)
}

func TestParseTagsTakesWhatIsWellFormed(t *testing.T) {
	got, err := aimdgrpc.ParseTags(metadata.MD{"aimd-client": {"a", "b"}, "aimd-feature": {"nightly"}, "aimd-attempt": {"-1"}})
	assert.ErrorContains(t, err, "Aimd-Client: given 2 times")
	assert.ErrorContains(t, err, "Aimd-Attempt: ")
	assert.Equal(t, tag.Tags{Feature: "nightly"}, got)
	got, err = aimdgrpc.ParseTags(nil)
	require.NoError(t, err)
	assert.Zero(t, got)
}
