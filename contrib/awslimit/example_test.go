package awslimit_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
)

func ExampleLimit() {
	ctx := context.Background()
	cfg, stop := loadConfig() // in your program: config.LoadDefaultConfig(ctx)
	defer stop()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	awslimit.Limit(&cfg, lim)
	client := s3.NewFromConfig(cfg)

	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if _, err := client.PutObject(ctx, &s3.PutObjectInput{
				Bucket: aws.String("photos"),
				Key:    aws.String(fmt.Sprintf("%d.jpg", i)),
				Body:   bytes.NewReader(make([]byte, 1024)),
			}); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Println("uploaded:", lim.Snapshot().Successes)
	// Output: uploaded: 200
}

// loadConfig starts a store that takes 8 requests at a time and answers SlowDown to the rest, and returns
// a config for it.
func loadConfig() (aws.Config, func()) {
	s, stop := startStore("photos", slots(8, 0))
	cfg := s.config()
	cfg.ServiceOptions = append(cfg.ServiceOptions, func(_ string, o any) { o.(*s3.Options).UsePathStyle = true })
	return cfg, stop
}

// Reads, writes, lists and deletes with a limiter each.
func ExampleLimitBy() {
	ctx := context.Background()
	cfg, stop := loadConfig() // in your program: config.LoadDefaultConfig(ctx)
	defer stop()

	limiters, err := aimd.NewKeyed(func(class string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Name: class})
	}, aimd.KeyedConfig{})
	if err != nil {
		log.Fatal(err)
	}
	awslimit.LimitBy(&cfg, limiters, awslimit.Class)
	client := s3.NewFromConfig(cfg)

	bucket, key := aws.String("photos"), aws.String("1.jpg")
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key}); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket}); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
		log.Fatal(err)
	}
	for _, class := range []string{"read", "write", "list", "delete"} {
		lim, err := limiters.For(class)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(class, lim.Snapshot().Attempts)
	}
	// Output:
	// read 0
	// write 1
	// list 2
	// delete 1
}
