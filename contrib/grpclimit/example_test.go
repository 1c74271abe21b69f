package grpclimit_test

import (
	"context"
	"fmt"
	"log"
	"net"
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
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
)

// Do waits for slots and retries; the calls within go with the slot that Do has.
func ExampleLimit() {
	address, stop := demo(8) // a server that serves 8 calls at a time
	defer stop()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	creds := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(address, append(grpclimit.Limit(lim), creds)...)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewTestServiceClient(conn)

	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if err := grpclimit.Do(context.Background(), lim, func(ctx context.Context) error {
				_, err := client.UnaryCall(ctx, &pb.SimpleRequest{})
				return err // RESOURCE_EXHAUSTED, UNAVAILABLE, RetryInfo: Do waits, and tries again
			}); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Println("done:", lim.Snapshot().Successes)
	// Output: done: 200
}

// Every call of the client is an operation of Do: nothing changes where it is called.
func ExampleRetry() {
	address, stop := demo(8)
	defer stop()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	creds := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(address, append([]grpc.DialOption{grpclimit.Retry(lim.Do), creds}, grpclimit.Limit(lim)...)...)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	_, err = pb.NewTestServiceClient(conn).UnaryCall(context.Background(), &pb.SimpleRequest{})
	fmt.Println(err, lim.Snapshot().Successes)
	// Output: <nil> 1
}

// Within Do around a client without the interceptors, for what a status says besides its code.
func ExampleClassify() {
	config := aimd.Config{Classifier: verdict.FirstOf(grpclimit.Classify, verdict.Classify)}
	v := config.Classifier(errTooMuch) // RESOURCE_EXHAUSTED with a RetryInfo
	fmt.Println(v.Meaning, v.Retry(), v.Wait)
	// Output: refused true 1.5s
}

// Each call tells who makes it, what for, and how bad it is if it fails.
func ExampleTag() {
	address, stop := demo(8)
	defer stop()

	opts, err := grpclimit.Tag("photos", "2.1")
	if err != nil {
		log.Fatal(err)
	}
	creds := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(address, append(opts, creds)...)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := tag.WithCriticality(tag.WithFeature(context.Background(), "thumbnails"), tag.Sheddable)
	if _, err := pb.NewTestServiceClient(conn).EmptyCall(ctx, &pb.Empty{}); err != nil { // the server prints its tags
		log.Fatal(err)
	}
	// Output: photos 2.1: thumbnails is sheddable
}

// A server that serves 16 calls at a time, makes a few wait, and sheds the rest, background work first.
func ExampleAdmit() {
	controller, err := admission.New(admission.Fixed(16), admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	opts, err := grpclimit.Admit(controller, grpclimit.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	address, stop := demo(16, opts...) // in your program: grpc.NewServer(opts...)
	defer stop()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	tags, err := grpclimit.Tag("photos", "2.1")
	if err != nil {
		log.Fatal(err)
	}
	creds := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(address, slices.Concat(grpclimit.Limit(lim), tags, []grpc.DialOption{creds})...)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewTestServiceClient(conn)
	background := tag.WithCriticality(context.Background(), tag.SheddablePlus)
	if _, err := client.UnaryCall(background, &pb.SimpleRequest{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("served:", controller.Snapshot().ByCriticality[tag.SheddablePlus].Admitted)
	// Output: served: 1
}

// errTooMuch is how the examples' service refuses.
var errTooMuch = withRetryInfo(codes.ResourceExhausted, durationpb.New(1500*time.Millisecond))

// demoService serves so many calls at a time and refuses the rest.
type demoService struct {
	pb.UnimplementedTestServiceServer
	slots int32
	busy  atomic.Int32
}

func (s *demoService) UnaryCall(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	defer s.busy.Add(-1)
	if s.busy.Add(1) > s.slots {
		return nil, refused
	}
	return &pb.SimpleResponse{}, nil
}

// EmptyCall prints the caller's tags.
func (s *demoService) EmptyCall(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	tags, err := grpclimit.ParseTags(md)
	fmt.Printf("%s %s: %s is %v\n", tags.Client, tags.Version, tags.Feature, tags.Criticality)
	return &pb.Empty{}, err
}

// demo starts a server that takes so many calls at a time and refuses the rest.
func demo(slots int32, opts ...grpc.ServerOption) (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(opts...)
	pb.RegisterTestServiceServer(server, &demoService{slots: slots})
	served := async(func() error { return server.Serve(listener) })
	return "passthrough:///" + listener.Addr().String(), func() { server.Stop(); <-served }
}
