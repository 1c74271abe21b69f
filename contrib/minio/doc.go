// Package aimdminio puts a limiter of package aimd under a client of minio-go:
// every request of every operation, each try and each part of its own, waits
// for a slot of the window before it is sent, and how it ends is what the
// window learns from.
//
//	lim, err := aimd.NewReno(aimd.WithFactor(0.9))
//	...
//	opts := &minio.Options{Creds: creds, Secure: true}
//	if err := aimdminio.Limit(opts, lim); err != nil {
//		...
//	}
//	client, err := minio.New("s3.example.com", opts)
//
// Use the client as before, from as many goroutines as you like.
// minio-go retries by itself, and a slot is free while it sleeps.
//
// The other way is a client with MaxRetries 1 and no limiter under it, inside
// Do of a limiter that knows minio-go's errors:
//
//	lim, err := aimd.NewReno(aimd.WithClassifier(attempt.FirstOf(aimdminio.Classify, attempt.Classify)))
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error {
//		_, err := client.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
//		return err
//	})
//
// There an operation is one attempt, whatever its requests, and goes on until it
// is done, its error is final, or the context ends. Use it for small objects if
// nothing may be lost in an outage of minutes. If the client is under Limit of the same
// limiter too, its requests use the slot that Do has.
//
// Good to know about Limit:
//   - minio-go tries a request at most 36 times, some 17 seconds of a service that does
//     not answer at all. Against one that refuses that is enough, since the window then
//     holds nearly everything back.
//   - If the endpoint has never answered, or its TLS does not fit, minio-go tries a call
//     again for its 17 seconds all the same, and its error has the reason.
//   - minio-go also tries again what can never succeed, such as a request after the
//     limiter was closed. End the context together with the limiter.
//   - What GetObject returns sends its request at the first Read, and holds the
//     slot until it is read to the end or closed, or the context ends. So close it.
//   - A body that is no io.Seeker is sent once: no retry.
//   - Requests of HealthCheck take slots as well, and while it gets no answer minio-go
//     fails all calls at once. Do not start it for bulk work.
package aimdminio
