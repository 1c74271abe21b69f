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
	aimdminio "github.com/aimd-go/aimd/contrib/minio"
	"github.com/minio/minio-go/v7"
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
	opts := &minio.Options{Region: "us-east-1"}
	if err := aimdminio.Limit(opts, lim); err != nil {
		log.Fatal(err)
	}
	client, err := minio.New(strings.TrimPrefix(store.URL, "http://"), opts)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.PutObject(context.Background(), "bucket", "k", strings.NewReader("object"), 6, minio.PutObjectOptions{})
	if err != nil || asked != 2 || lim.Snapshot().Successes != 1 {
		log.Fatal(err, asked, lim.Snapshot())
	}
	fmt.Println("refused once, then stored")
}
