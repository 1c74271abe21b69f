// Command download gets all objects below a prefix of a bucket into a folder, as fast as the store lets: no number to
// tune, and each object verified by its checksum. Credentials, region and endpoint come from the AWS environment.
//
//	go run . BUCKET PREFIX FOLDER
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aimd-go/aimd"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: download BUCKET PREFIX FOLDER")
	}
	if err := download(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal("download: ", err)
	}
}

func download(ctx context.Context, bucket, prefix, folder string) error {
	root, err := os.OpenRoot(folder) // no key leads out of it
	if err != nil {
		return err
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} })) // aimd tries again
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = cfg.BaseEndpoint != nil })
	lim, err := aimd.New(aimd.Config{Name: "download"})
	if err != nil {
		return err
	}
	defer lim.Close()

	var listed error
	keys := func(yield func(string) bool) {
		for pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix}); pages.HasMorePages(); {
			page, err := aimd.Do(ctx, lim, func(ctx context.Context) (*s3.ListObjectsV2Output, error) { return pages.NextPage(ctx) })
			if listed = err; err != nil {
				return
			}
			for _, o := range page.Contents {
				if !strings.HasSuffix(*o.Key, "/") && !yield(*o.Key) { // not the mark of a folder
					return
				}
			}
		}
	}
	failed := aimd.Each(ctx, lim, keys, func(ctx context.Context, key string) error {
		out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
		if err != nil {
			return err
		}
		defer out.Body.Close()
		return save(root, key, out.Body)
	})
	return errors.Join(listed, failed)
}

// save writes a file that has its name once it is whole. The end of the body is an error if the checksum differs.
func save(root *os.Root, key string, body io.Reader) error {
	if err := root.MkdirAll(path.Dir(key), 0o755); err != nil {
		return err
	}
	f, err := root.Create(key + ".part")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(key+".part", key)
}
