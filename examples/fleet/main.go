// Command fleet uploads a tree of files to S3 from several machines: each machine that sees the tree and
// the Redis runs it. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/hibiken/asynq"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/asynqlimit"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/share"
)

// fleet is one process.
type fleet struct {
	redis          asynq.RedisClientOpt
	dir            string
	bucket, prefix string
	store          *s3.Client
	endpoint       string // of the store; "": AWS
}

func main() {
	log.SetFlags(0)
	addr := flag.String("redis", "127.0.0.1:6379", "the `address` of Redis")
	to := flag.String("to", "", "the destination, `s3://bucket/prefix`")
	workers := flag.Int("workers", 64, "how many uploads wait or run at a time; the window decides how many run")
	store := flag.String("share", "", "the `URL` of the store of the one window, redis:// or postgres://; without it the Redis of -redis")
	only := flag.Bool("work", false, "upload until a signal comes; without it, also list the tree, and count at the end")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: fleet -to s3://bucket/prefix [flags] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(*to, "s3://"), "/")
	if flag.NArg() != 1 || bucket == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := &fleet{redis: asynq.RedisClientOpt{Addr: *addr}, dir: flag.Arg(0), bucket: bucket, prefix: prefix}
	if err := f.run(ctx, *store, *workers, *only); err != nil {
		log.Fatal("fleet: ", err)
	}
}

// run uploads, and returns after the count or a signal.
func (f *fleet) run(ctx context.Context, url string, workers int, only bool) error {
	if _, err := os.Stat(f.dir); err != nil {
		return err
	}
	store, closed, err := f.shared(ctx, url)
	if err != nil {
		return err
	}
	defer closed()
	machines, err := share.Join(share.Config{Store: store})
	if err != nil {
		return err
	}
	defer machines.Close()
	lim, err := machines.New(aimd.Config{Name: "fleet"})
	if err != nil {
		return err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	awslimit.Limit(&cfg, lim)
	f.endpoint = aws.ToString(cfg.BaseEndpoint)
	f.store = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = cfg.BaseEndpoint != nil })

	server := asynq.Config{
		Concurrency: workers, LogLevel: asynq.WarnLevel,
		// Refusals are not asynq's, so these are crashes of a machine, and errors of a single file.
		RetryDelayFunc: func(n int, _ error, _ *asynq.Task) time.Duration { return time.Duration(n) * time.Second },
	}
	limit := asynqlimit.Limit(&server, lim)
	s := asynq.NewServer(f.redis, server)
	if err := s.Start(limit(asynq.HandlerFunc(f.upload))); err != nil {
		return err
	}
	defer s.Shutdown()
	defer lim.Close() // tasks that wait go back at once
	defer s.Stop()
	if only {
		<-ctx.Done()
		return nil
	}
	if err := f.list(ctx); err != nil {
		return err
	}
	return f.finish(ctx)
}

// upload is a task: one file.
func (f *fleet) upload(ctx context.Context, t *asynq.Task) error {
	name := string(t.Payload())
	file, err := os.DirFS(f.dir).Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = f.store.PutObject(ctx, &s3.PutObjectInput{Bucket: &f.bucket, Key: aws.String(f.key(name)), Body: file.(io.ReadSeeker)})
	return err
}

func (f *fleet) key(name string) string { return path.Join(f.prefix, name) }

// list enqueues the files that the store lacks, or has older. While a file is in the queue it is there once,
// also if a second machine lists: its destination, size and time are the task's ID.
func (f *fleet) list(ctx context.Context) error {
	began := time.Now()
	client, tasks := asynq.NewClient(f.redis), asynq.NewInspector(f.redis)
	defer client.Close()
	defer tasks.Close()
	return f.each(ctx, func(name string, info fs.FileInfo, stored time.Time) error {
		if !stored.Before(info.ModTime().Truncate(time.Second)) {
			return nil
		}
		id := fmt.Sprintf("%s s3://%s/%s %d %d", f.endpoint, f.bucket, f.key(name), info.Size(), info.ModTime().UnixNano())
		enqueue := func() error {
			_, err := client.EnqueueContext(ctx, asynq.NewTask("upload", []byte(name)), asynq.TaskID(id), asynq.Retention(time.Hour))
			return err
		}
		err := enqueue()
		if !errors.Is(err, asynq.ErrTaskIDConflict) {
			return err
		}
		// Redis keeps the ID of a task that ended. It gives way to the new one, unless it ended meanwhile.
		old, err := tasks.GetTaskInfo("default", id)
		if err == nil && (old.State == asynq.TaskStateArchived || old.State == asynq.TaskStateCompleted && old.CompletedAt.Before(began)) {
			if err = tasks.DeleteTask("default", id); err == nil {
				err = enqueue()
			}
		}
		if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrTaskIDConflict) { // another machine lists too
			return nil
		}
		return err
	})
}

// finish waits until no task is left, and compares the store with the tree.
func (f *fleet) finish(ctx context.Context) error {
	tasks := asynq.NewInspector(f.redis)
	defer tasks.Close()
	for {
		q, err := tasks.GetQueueInfo("default")
		if err == nil && q.Pending+q.Active+q.Scheduled+q.Retry == 0 {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return errors.New("stopped; the same command continues")
		}
	}
	files, missing := 0, 0
	err := f.each(ctx, func(_ string, _ fs.FileInfo, stored time.Time) error {
		files++
		if stored.IsZero() {
			missing++
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d files, %d stored, %d missing\n", files, files-missing, missing)
	if missing > 0 {
		return errors.New("not all is stored; asynq's archive has the errors")
	}
	return nil
}

// each calls do with each regular file of the tree, and the time when it was stored: zero if the store has no
// object of its key and size.
func (f *fleet) each(ctx context.Context, do func(name string, info fs.FileInfo, stored time.Time) error) error {
	objects := map[string]types.Object{}
	for p := s3.NewListObjectsV2Paginator(f.store, &s3.ListObjectsV2Input{Bucket: &f.bucket, Prefix: &f.prefix}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			objects[*o.Key] = o
		}
	}
	return fs.WalkDir(os.DirFS(f.dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				var stored time.Time
				if o, ok := objects[f.key(name)]; ok && *o.Size == info.Size() {
					stored = *o.LastModified
				}
				err = do(name, info, stored)
			}
		}
		if errors.Is(err, fs.ErrNotExist) && name != "." { // removed meanwhile
			return nil
		}
		return err
	})
}
