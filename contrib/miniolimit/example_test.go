package miniolimit_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/miniolimit"
	"github.com/aimd-go/aimd/httplimit"

	"github.com/aimd-go/aimd/verdict"
)

func ExampleLimit() {
	ctx := context.Background()
	store := start(8, 0, nil) // takes 8 requests at a time, answers SlowDown to the rest
	defer store.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	opts := store.options() // in your program: &minio.Options{Creds: ..., Secure: true}
	if err := miniolimit.Limit(opts, lim); err != nil {
		log.Fatal(err)
	}
	client, err := minio.New(store.endpoint(), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer lim.Close()

	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			body := bytes.NewReader(make([]byte, 1024))
			if _, err := client.PutObject(ctx, "photos", fmt.Sprintf("%d.jpg", i), body, body.Size(), minio.PutObjectOptions{}); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Println("uploaded:", lim.Snapshot().Successes)
	// Output: uploaded: 200
}

func ExampleClassify() {
	lim, err := aimd.New(aimd.Config{Classifier: verdict.FirstOf(miniolimit.Classify, verdict.Classify)})
	if err != nil {
		log.Fatal(err)
	}
	defer lim.Close()
	tries := 0
	err = lim.Do(context.Background(), func(context.Context) error {
		// In your program: a call of a client whose MaxRetries is 1.
		tries++
		if tries == 1 {
			return minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}
		}
		return nil
	})
	fmt.Println("tries:", tries, "error:", err)
	// Output: tries: 2 error: <nil>
}

// Reads, writes, lists and deletes with a limiter each.
func ExampleLimitBy() {
	ctx := context.Background()
	store := start(8, 0, nil)
	defer store.Close()

	limiters, err := aimd.NewKeyed(func(class string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Name: class})
	}, aimd.KeyedConfig{})
	if err != nil {
		log.Fatal(err)
	}
	opts := store.options()
	if err := miniolimit.LimitBy(opts, httplimit.By(limiters, miniolimit.Class)); err != nil {
		log.Fatal(err)
	}
	client, err := minio.New(store.endpoint(), opts)
	if err != nil {
		log.Fatal(err)
	}
	body := bytes.NewReader(make([]byte, 1024))
	if _, err := client.PutObject(ctx, "photos", "1.jpg", body, body.Size(), minio.PutObjectOptions{}); err != nil {
		log.Fatal(err)
	}
	for object := range client.ListObjects(ctx, "photos", minio.ListObjectsOptions{}) {
		if _, err := client.StatObject(ctx, "photos", object.Key, minio.StatObjectOptions{}); err != nil {
			log.Fatal(err)
		}
		if err := client.RemoveObject(ctx, "photos", object.Key, minio.RemoveObjectOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	for _, class := range []string{"read", "write", "list", "delete"} {
		lim, err := limiters.For(class)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(class, lim.Snapshot().Successes)
	}
	// Output:
	// read 1
	// write 1
	// list 1
	// delete 1
}
