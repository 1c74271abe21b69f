// Package awslimit puts a limiter of package aimd under a client of the AWS SDK for Go v2. Every attempt of every
// operation waits for a slot of the window before it is signed and sent. The window learns from its end.
//
//	lim, err := aimd.New(aimd.Config{})
//	...
//	cfg, err := config.LoadDefaultConfig(ctx)
//	...
//	awslimit.Limit(&cfg, lim)
//	client := s3.NewFromConfig(cfg)
//
// Use the client as before, from any number of goroutines.
//
//	Initialize -- Retry --+-- 1 wait for a slot -- Signing -- 2 send
//	                ^     |                                     |
//	                |     +-- 4 release <-- 3 parse error, body closed
//	                +---- refused: again, at the front of the queue
//
// The classifier reads the error that the SDK parsed: its code (SlowDown, also inside a 200), its status,
// and its Retry-After. A slot is free while an operation waits for its next attempt.
//
// The body of a streaming output, such as GetObject's, holds its slot until it is read to the end or closed, or the
// context ends. So close the body.
//
// Good to know:
//   - An operation backs off as with the limiter's Do, within aimd.Config.MaxAttempts. The limiter's attempt
//     timeout and policy are for its Do and Each. Here, use the timeouts of the HTTP client, and the SDK's retryer.
//   - A deadline that passes during an attempt is a timeout, if the attempt had at least half of the
//     time.
//   - The limiter's guards (aimd.Config.Guards: a throttle, a retry budget) are asked before each attempt. A
//     refusal by a guard ends the operation.
//   - Within Do and Each of the same limiter an operation uses their slot, and makes one attempt. Do and Each make
//     the next attempt.
//   - A client keeps ten idle connections for a host. With a wider window, raise MaxIdleConnsPerHost of
//     its transport, or it dials all the time.
//   - One limiter is for all operations. LimitBy has a limiter for each class of operations, such as reads and
//     writes.
//   - Each part of a multipart transfer takes its own slot: set the transfer manager's concurrency high and let the
//     limiter decide.
package awslimit
