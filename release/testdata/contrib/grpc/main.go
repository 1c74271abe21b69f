// A server that refuses the first call: it is sent again.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/aimd-go/aimd"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

type service struct {
	grpc_health_v1.UnimplementedHealthServer
	asked int
}

func (s *service) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if s.asked++; s.asked == 1 {
		return nil, status.Error(codes.ResourceExhausted, "too much")
	}
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s, server := &service{}, grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, s)
	go server.Serve(listener)
	defer server.Stop()
	lim, err := aimd.NewReno()
	if err != nil {
		log.Fatal(err)
	}
	options := append([]grpc.DialOption{aimdgrpc.Retry(lim.Do), grpc.WithTransportCredentials(insecure.NewCredentials())}, aimdgrpc.Limit(lim)...)
	conn, err := grpc.NewClient(listener.Addr().String(), options...)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || s.asked != 2 || lim.Snapshot().Successes != 1 {
		log.Fatal(err, s.asked, lim.Snapshot())
	}
	fmt.Println("refused once, then answered")
}
