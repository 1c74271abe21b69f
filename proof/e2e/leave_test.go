package e2e

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/contrib/grpclimit"
)

// counter is a service of 32 slots of 50 to 150 ms, which goes on with the work of callers who left. It refuses the rest, or lets
// it queue.
type counter struct {
	pb.UnimplementedTestServiceServer
	refuses bool
	slots   chan struct{}
}

func (c *counter) serves() bool {
	select {
	case c.slots <- struct{}{}:
	default:
		if c.refuses {
			return false
		}
		c.slots <- struct{}{}
	}
	time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
	<-c.slots
	return true
}

func (c *counter) UnaryCall(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if !c.serves() {
		return nil, status.Error(codes.ResourceExhausted, "full")
	}
	return &pb.SimpleResponse{}, nil
}

// grpc is a client of the service with these options.
func (c *counter) grpc(t *testing.T, opts []grpc.DialOption) func(context.Context) error {
	listener, server := bufconn.Listen(1<<16), grpc.NewServer()
	pb.RegisterTestServiceServer(server, c)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	conn, err := grpc.NewClient("passthrough:///any", append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(); server.Stop(); served.Wait() })
	client := pb.NewTestServiceClient(conn)
	return func(ctx context.Context) error {
		_, err := client.UnaryCall(ctx, &pb.SimpleRequest{})
		return err
	}
}

// RoundTrip is the service as a store. Who waits may leave.
func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	answered := make(chan bool, 1)
	go func() { answered <- c.serves() }()
	select {
	case taken := <-answered:
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
		if !taken {
			resp.StatusCode, resp.Header = http.StatusServiceUnavailable, http.Header{"Content-Type": {"application/xml"}}
			resp.Body = io.NopCloser(strings.NewReader("<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"))
		}
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// aws is a client of the store, with the limiter if there is one.
func (c *counter) aws(l *aimd.Limiter) func(context.Context) error {
	cfg := aws.Config{
		Region: "us-east-1", HTTPClient: &http.Client{Transport: c}, BaseEndpoint: aws.String("http://store.example"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}
	if l != nil {
		awslimit.Limit(&cfg, l)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	return func(ctx context.Context) error {
		_, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String("bucket"), Key: aws.String("key")})
		return err
	}
}

// hurried is the share of the calls from 3 to 8 s after a spike that are done: at .8 of what the service takes, and four times as
// many for 2 s. Each caller leaves after a second, and says so before (a deadline) or not.
func hurried(says bool, call func(context.Context) error) float64 {
	var all sync.WaitGroup
	var mu sync.Mutex
	asked, done := 0, 0
	began := time.Now()
	for at := time.Duration(0); at < 15*time.Second; at = time.Since(began) {
		n := 1
		if at >= 5*time.Second && at < 7*time.Second {
			n = 4
		}
		for range n {
			all.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				if says {
					ctx, cancel = context.WithTimeout(context.Background(), time.Second)
				}
				defer cancel()
				defer time.AfterFunc(time.Second, cancel).Stop()
				err := call(ctx)
				mu.Lock()
				defer mu.Unlock()
				if at >= 10*time.Second {
					asked++
					if err == nil {
						done++
					}
				}
			})
		}
		time.Sleep(time.Second / 256)
	}
	all.Wait()
	time.Sleep(time.Minute) // the service is through with those who left
	return float64(done) / float64(asked)
}

// Callers of gRPC and of an SDK who leave are served in time again 3 s after a spike, whether the limiter sees their deadline or
// not. Without a limiter none is where the service queues: each is served after it left.
func TestCallersOfSDKsWhoLeave(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		for _, says := range []bool{false, true} {
			for _, limited := range []bool{false, true} {
				for _, who := range []string{"gRPC", "the AWS SDK"} {
					synctest.Test(t, func(t *testing.T) {
						c := &counter{refuses: refuses, slots: make(chan struct{}, 32)}
						l, err := aimd.New(aimd.Config{})
						require.NoError(t, err)
						defer l.Close()
						var call func(context.Context) error
						switch {
						case who == "gRPC" && limited:
							call = c.grpc(t, append([]grpc.DialOption{grpclimit.Retry(l.Do)}, grpclimit.Limit(l)...))
						case who == "gRPC":
							call = c.grpc(t, nil)
						case limited:
							call = c.aws(l)
						default:
							call = c.aws(nil)
						}
						share := hurried(says, call)
						t.Logf("%s, refuses %v, says its deadline %v, limited %v: %.3f", who, refuses, says, limited, share)
						switch {
						case limited:
							assert.GreaterOrEqual(t, share, .95)
						case !refuses:
							assert.Less(t, share, .05)
						}
					})
				}
			}
		}
	}
}
