package aimdgrpc_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
)

// errTooMuch is how the examples' service refuses.
var errTooMuch = withRetryInfo(codes.ResourceExhausted, durationpb.New(1500*time.Millisecond))

// demoService is the examples' service.
type demoService struct {
	service
	slots int32
	busy  atomic.Int32
}

func newDemoService(slots int32) *demoService {
	s := &demoService{slots: slots}
	s.unary = func(context.Context, *pb.SimpleRequest) error {
		defer s.busy.Add(-1)
		if s.busy.Add(1) > s.slots {
			return refused
		}
		time.Sleep(2 * time.Millisecond) // the service time
		return nil
	}
	return s
}

// EmptyCall prints the caller's tags.
func (s *demoService) EmptyCall(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	tags, err := aimdgrpc.ParseTags(md)
	fmt.Printf("%s %s: %s is %v\n", tags.Client, tags.Version, tags.Feature, tags.Criticality)
	return &pb.Empty{}, err
}
