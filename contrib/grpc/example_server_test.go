package aimdgrpc_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/tag"
)

// A server that serves 16 calls at a time, makes a few wait, and sheds the rest, background work first.
func ExampleAdmit() {
	controller, err := admission.New(admission.Fixed(16), admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	opts, err := aimdgrpc.Admit(controller, aimdgrpc.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	address, stop := demo(16, opts...) // in your program: grpc.NewServer(opts...)
	defer stop()

	lim, err := aimd.New()
	if err != nil {
		log.Fatal(err)
	}
	tags, err := aimdgrpc.Tag("photos", "2.1")
	if err != nil {
		log.Fatal(err)
	}
	creds := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(address, slices.Concat(aimdgrpc.Limit(lim), tags, []grpc.DialOption{creds})...)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewTestServiceClient(conn)
	background := tag.WithCriticality(context.Background(), tag.SheddablePlus)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if err := lim.Do(background, func(ctx context.Context) error {
				_, err := client.UnaryCall(ctx, &pb.SimpleRequest{})
				return err
			}); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Println("served:", controller.Snapshot().ByCriticality[tag.SheddablePlus].Admitted)
	// Output: served: 100
}

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
