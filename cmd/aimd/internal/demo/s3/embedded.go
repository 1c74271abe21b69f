package s3

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/s3/store"
)

// embedded is the store of the demo: a new one, in this process, for each strategy.
type embedded struct{ c Config }

func (embedded) close() error { return nil }

func (e embedded) open(string) (*place, error) {
	s, err := store.Start(store.Config{Slots: e.c.Slots, Service: e.c.Service, Jitter: e.c.Jitter, Bucket: ownBucket})
	if err != nil {
		return nil, err
	}
	return placeIn(s), nil
}

// placeIn is the whole of a store of our own.
func placeIn(s *store.Store) *place {
	return &place{
		config: aws.Config{
			Region:       "us-east-1",
			BaseEndpoint: aws.String(s.URL),
			// The store asks for none, the SDK does.
			Credentials: credentials.NewStaticCredentialsProvider("demo", "demo", ""),
		},
		bucket: ownBucket,
		peak:   s.Peak,
		clear:  func() error { s.Close(); return nil },
	}
}
