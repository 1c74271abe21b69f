// Package miniolimit puts a limiter of package aimd under a client of minio-go. Every request of every
// operation, each try and each part of its own, waits for a slot of the window before it is sent, and the
// window learns from how it ends.
//
//	lim, err := aimd.New(aimd.Config{})
//	...
//	opts := &minio.Options{Creds: creds, Secure: true}
//	if err := miniolimit.Limit(opts, lim); err != nil {
//		...
//	}
//	client, err := minio.New("s3.example.com", opts)
//
// Use the client as before, from any number of goroutines. minio-go retries on its own, and a slot is free
// while it sleeps.
//
// The other way is a client with MaxRetries 1 and no limiter under it, inside Do of a limiter that knows
// minio-go's errors:
//
//	lim, err := aimd.New(aimd.Config{Classifier: attempt.FirstOf(miniolimit.Classify, attempt.Classify)})
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error {
//		_, err := client.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
//		return err
//	})
//
// There an operation is one attempt, whatever its requests, and is tried until it succeeds, its error is
// final, or the context ends. Use it for small objects that must survive an outage of minutes. If the
// client is under Limit of the same limiter too, its requests use the slot that Do has.
//
// LimitBy has a limiter for each class of requests, such as reads and writes. Good to know about Limit:
//   - minio-go tries a request at most 36 times, some 17 seconds of a service that does not answer. That
//     is enough for a service that refuses, since the window then sends little.
//   - If the endpoint has never answered, or its TLS does not fit, minio-go tries a call again for its 17
//     seconds all the same, and its error has the reason.
//   - minio-go also tries again after the limiter was closed. End the context together with the limiter.
//   - GetObject's object sends its request at the first Read, and holds the slot until it is read to the
//     end or closed, or the context ends. So close it.
//   - A body that is no io.Seeker is sent once: no retry.
//   - Requests of HealthCheck take slots as well, and while it gets no answer minio-go fails all calls at
//     once. Do not start it for bulk work.
package miniolimit
