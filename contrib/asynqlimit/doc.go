// Package asynqlimit puts a limiter of package aimd in front of the tasks of an asynq server. Each task waits in
// its worker for a slot of the window. The window learns from the end of the task.
//
//	cfg := asynq.Config{Concurrency: 64}
//	mux := asynq.NewServeMux()
//	mux.Use(asynqlimit.Limit(&cfg, lim))
//	mux.HandleFunc("upload", upload)
//	err = asynq.NewServer(redis, cfg).Run(mux)
//
// The handler returns the error of the service, which the limiter's classifier reads (verdict.Classify). A refused
// task is tried again in the same worker, before the tasks that wait, and asynq counts no retry. Any other error goes
// to asynq unchanged, and so does a refusal with asynq.SkipRetry or asynq.RevokeTask. If the service has never
// answered, a task fails after aimd.Config.FirstContact, which is a failure for asynq. Give the server more workers
// than the service has slots, since only a task with a worker can use a slot. Each process has its own limiter,
// unless it is the limiter of a fleet (package share). docs/fleet.md of the repository compares the engines, with
// figures.
//
// # When a task is handed back
//
//   - It has waited for half of the time to its deadline (asynq.Timeout, by default 30 minutes). The
//     other half is for its work. asynq extends the lease of a task that waits, so the lease is no bound.
//   - Settings.Waiters tasks wait already. All queues of a server share its workers, so a slow service
//     would starve the other queues. The alternative is a server for each service, with all its workers.
//   - The limiter is closed, or its queue is full (aimd.Config.QueueBound).
//   - It has not begun, and the pause or the wait for a quota is longer than aimd.Config.MaxWait.
//
// A task is handed back with ErrHandedBack. It returns to the end of its queue after the next poll for retries
// (asynq.Config.DelayedTaskCheckInterval, 5 seconds), without a retry. asynq archives a task on its last retry, or
// with asynq.MaxRetry(0), after any error. So such a task waits until its deadline.
//
// # What asynq promises
//
// A task runs at least once. It may run twice if its worker dies after the work and before asynq has noted the end,
// if Redis loses its last second of writes, or if the task ends while Redis is away. After a crash a task returns
// within two minutes. That costs the task a retry, unless IsFailure excepts asynq.ErrLeaseExpired. With that
// exception a task that crashes its worker does so for ever.
//
// Server.Shutdown waits for Config.ShutdownTimeout, 8 seconds, and then puts waiting and running tasks back into
// their queue. For a quicker end call Server.Stop, then Limiter.Close, then Server.Shutdown: waiting tasks are
// handed back at once.
package asynqlimit
