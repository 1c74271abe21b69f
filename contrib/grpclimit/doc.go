// Package grpclimit puts a limiter of package aimd in front of a gRPC client, and admission in front of a
// gRPC server.
//
// At the client every call, and every stream, waits for a slot of the window before it is sent. The window learns
// from its end:
//
//	lim, err := aimd.New(aimd.Config{})
//	...
//	conn, err := grpc.NewClient(target, append(grpclimit.Limit(lim), creds)...)
//
// Use the client as before, from any number of goroutines. Do of the same limiter around a call tries the
// call again, which then uses the slot of Do. [Retry] does the same for every call of a client, or follows a
// retry.Policy. [Tag] adds the tags of each call. If the server chooses by criticality, as Admit does, give
// each criticality a connection and a limiter of its own. Otherwise the refusals of background work narrow
// the window of interactive work too.
//
// At the server, [Admit] puts an admission.Controller in front of all services: a number of calls at a time, a
// short queue, and refusals for other calls, the least critical first.
//
// [Classify] reads the codes, RetryInfo and the trailer grpc-retry-pushback-ms; the limiter's own classifier has
// the last word. An UNAVAILABLE without a header is gRPC's own: the service was not reached
// (aimd.Config.FirstContact). The comment of package attempt has the ends of an attempt and their outcomes. With
// gRPC:
//
//	event                                          outcome
//	the context ends while the call waits          an error as Limit says, and no call
//	the context ends between RecvMsg calls         success after a header or a message, otherwise neutral
//	a stream is never read                         the slot is held until its context ends
//	a stream outlives the Do in which it began     it continues without a slot
//
// A stream holds its slot until RecvMsg returns an error (also io.EOF), SendMsg returns an error other than io.EOF,
// the context ends, or the connection is closed. CloseSend alone does not end the stream. A stream that stays open after
// its header or first message, such as a watch, leaves the window if the service takes more (event.Open), after ten
// seconds at least. To MaxWindow it counts until its end.
//
// A goroutine that keeps a stream open while it makes other calls through the same limiter needs several
// slots. If MaxWindow of them are open, or all slots have streams without a header or a message, every call waits for
// ever. Use a limiter for each kind of call, with [LimitBy].
//
// gRPC itself retries below all interceptors: by the retryPolicy of its service config, and if the server has
// certainly not seen a call. These retries are one attempt here, and hide refusals from the window. So let Do
// retry, and use grpc.WithDisableRetry. An interceptor that retries comes before Limit, so that each attempt takes
// a slot. A call that waits for a connection (grpc.WaitForReady, or the first call) holds its slot meanwhile.
package grpclimit
