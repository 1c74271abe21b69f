// Package miniolimit puts a limiter of package aimd under a client of minio-go. Every request of every operation,
// each try and each part, waits for a slot of the window before it is sent. The window learns from its end.
//
//	lim, err := aimd.New(aimd.Config{})
//	...
//	opts := &minio.Options{Creds: creds, Secure: true}
//	if err := miniolimit.Limit(opts, lim); err != nil {
//		...
//	}
//	client, err := minio.New("s3.example.com", opts)
//
// Use the client as before, from any number of goroutines. minio-go retries itself, and holds no slot while it
// sleeps.
//
// The other way is a client with MaxRetries 1 and no limiter under it, inside Do of a limiter that knows
// minio-go's errors:
//
//	lim, err := aimd.New(aimd.Config{Classifier: verdict.FirstOf(miniolimit.Classify, verdict.Classify)})
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error {
//		_, err := client.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
//		return err
//	})
//
// Then an operation is one attempt, with any number of requests, and is tried until it succeeds, its error is
// final, or the context ends. Use this way for small objects that must survive an outage of minutes. If the client
// is under Limit of the same limiter too, its requests use the slot of Do.
//
// LimitBy has a limiter for each class of requests, such as reads and writes. Good to know about Limit:
//   - minio-go tries a request at most 36 times: some 17 seconds at a service that does not answer. That is enough
//     for a service that refuses, since the window then sends few requests.
//   - If the endpoint has never answered, or its TLS does not fit, minio-go tries a call again for its 17 seconds
//     anyway, and its error has the reason.
//   - minio-go also tries again after the limiter was closed. End the context together with the limiter.
//   - GetObject's object sends its request at the first Read. It holds the slot until it is read to the end or
//     closed, or the context ends. So close the object.
//   - A body that is no io.Seeker is sent once: no retry.
//   - Requests of HealthCheck take slots too. While HealthCheck gets no answer, minio-go fails all calls at once.
//     Do not start HealthCheck for bulk work.
package miniolimit
