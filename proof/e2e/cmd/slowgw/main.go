// Command slowgw is versitygw, an S3 server over a directory, with a service time and a cap
// on its requests: it refuses a request above the cap at once, with its own 503 SlowDown.
// The tests run it as a separate process, so that they can stop, continue and kill it. A bucket is a folder:
//
//	mkdir -p /tmp/s3/photos && go run ./proof/e2e/cmd/slowgw -dir /tmp/s3
//	export AWS_ACCESS_KEY_ID=access AWS_SECRET_ACCESS_KEY=secret-key AWS_REGION=us-east-1
//	go run ./cmd/aimd upload docs s3://photos --endpoint http://127.0.0.1:9000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "the S3 server's `address`")
	control := flag.String("control", "127.0.0.1:9001", "the `address` that serves the counts, at /counts")
	dir := flag.String("dir", "", "the `directory` with the objects; the one for their metadata, if need be, is beside it")
	access := flag.String("access", "access", "the access key's `id`")
	secret := flag.String("secret", "secret-key", "the secret access `key`")
	slots := flag.Int("cap", 32, "how many `requests` it takes at a time")
	service := flag.Duration("service", 100*time.Millisecond, "the mean service `time` of an upload; each differs by up to a fifth")
	cert := flag.String("cert", "", "the `file` with the certificate; with it the server speaks TLS")
	key := flag.String("key", "", "the `file` with the certificate's key")
	refuse := flag.Float64("refuse", 0, "the `share` of objects in one request that it refuses whatever the load, from 0 to 1")
	flag.Parse()
	s, err := open(*dir, *service, *refuse)
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(http.ListenAndServe(*control, s.counts())) }()
	log.Fatal(embedgw.RunVersityGW(context.Background(), s, &embedgw.Config{
		RootUserAccess: *access, RootUserSecret: *secret,
		Ports:             []string{*listen},
		CertFile:          *cert,
		KeyFile:           *key,
		MaxConnections:    8192,
		MaxRequests:       *slots,
		MultipartMaxParts: 10000,
		KeepAlive:         true,
		Quiet:             true,
	}))
}

// open makes the store. Metadata goes into extended attributes or, if the file system does
// not have them, into a separate directory.
func open(dir string, service time.Duration, refuse float64) (*store, error) {
	s := &store{service: service, refuse: refuse}
	opts := posix.PosixOpts{NewDirPerm: 0o755}
	var metadata meta.MetadataStorer = meta.XattrMeta{}
	if err := (meta.XattrMeta{}).Test(dir); err != nil {
		opts.SideCarDir = dir + "-metadata"
		if err := os.MkdirAll(opts.SideCarDir, 0o755); err != nil {
			return nil, err
		}
		if metadata, err = meta.NewSideCar(opts.SideCarDir); err != nil {
			return nil, fmt.Errorf("metadata in %s: %w", opts.SideCarDir, err)
		}
	}
	var err error
	// versitygw works in the directory from here on.
	s.Posix, err = posix.New(dir, metadata, opts)
	return s, err
}
