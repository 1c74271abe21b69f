// Package riverlimit puts a limiter of package aimd in front of the jobs of a river client. Each job waits in its
// worker for a slot of the window. The window learns from the end of the job.
//
//	cfg := &river.Config{Queues: queues, Workers: workers}
//	riverlimit.Limit(cfg, lim)
//	client, err := river.NewClient(riverpgxv5.New(pool), cfg)
//
// The worker returns the error of the service, which the limiter's classifier reads (verdict.Classify). A refused job
// is worked again in the same worker, before the waiting jobs, and river counts no attempt. It decodes the arguments,
// starts JobTimeout, and calls the hooks WorkBegin and WorkEnd again. JobTimeout does not run while the job waits,
// and a job that exceeds it counts as refused. Any other error goes to river unchanged, and so does a refusal in
// river.JobCancel, or with river.JobSnooze. If the service has never answered, a job fails after
// aimd.Config.FirstContact, which is an attempt for river. Give the queue more workers (MaxWorkers) than the service
// has slots, since only a job with a worker can use a slot. Each process has its own limiter, unless it is the
// limiter of a fleet (package share). docs/fleet.md of the repository compares the engines, with figures.
//
// # When a job is handed back
//
//   - It has waited for half of Config.RescueStuckJobsAfter (1 hour by default). After RescueStuckJobsAfter river
//     takes the job for stuck and starts it a second time, so the other half is for the work. Raise
//     RescueStuckJobsAfter if the work needs longer than that half.
//   - Settings.Waiters jobs wait already.
//   - The limiter is closed, or its queue is full (aimd.Config.QueueBound).
//   - It has not begun, and the pause or the wait for a quota is longer than aimd.Config.MaxWait.
//
// A job is handed back by river.JobSnooze, which returns its attempt. It comes back after 5 seconds, or at
// once if the limiter is closed, at the end of its queue.
//
// # What river promises
//
// A job is worked at least once. It may be worked twice if its worker dies after the work and before river has
// noted the end, or if it takes longer than RescueStuckJobsAfter. After a crash a job comes back when
// RescueStuckJobsAfter has passed, and the crash costs it an attempt.
//
// Client.Stop waits for all fetched jobs, the waiting jobs included. With SoftStopTimeout, and with
// Client.StopAndCancel, a waiting job becomes available again and keeps its attempt. For a quick end close the
// limiter first: waiting jobs are handed back at once, and Stop waits only for the jobs in flight.
package riverlimit
