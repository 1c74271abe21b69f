// A store that refuses the first upload: it is sent again.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aimd-go/aimd"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func main() {
	asked := 0
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer store.Close()
	lim, err := aimd.NewReno()
	if err != nil {
		log.Fatal(err)
	}
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &store.URL, Credentials: aws.AnonymousCredentials{}}
	aimdaws.Limit(&cfg, lim)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err = client.PutObject(context.Background(), &s3.PutObjectInput{
		Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("object"),
	})
	if err != nil || asked != 2 || lim.Snapshot().Successes != 1 {
		log.Fatal(err, asked, lim.Snapshot())
	}
	fmt.Println("refused once, then stored")
}
