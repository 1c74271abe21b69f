// Package e2e tests the limiter against servers and faults that nobody here
// wrote. There is nothing in it to import.
//
// The servers are versitygw, an S3 server with a cap of its own on requests
// (see cmd/slowgw), nginx with limit_conn and limit_req, and haproxy with a stick
// table and with a queue. The tests start and stop them, on free ports of 127.0.0.1.
// nginx and haproxy are found in the PATH (Debian: apt-get install nginx-light
// haproxy); without them, their tests are skipped by hand and fail under CI=true. The
// uplink of TestUplink is tc's in a network namespace or, where that is not allowed, a
// listener that reads slowly. For the storm of "How not to crash a server" they are our own, aimd
// server and aimd client.
//
// TestOverload is the other end: a service of our own behind httplimit.Handler, as a
// process of its own, and ten clients that ask for twice what it can do.
//
// TestInterruptedUploads stops and kills aimd upload itself, as a process of its own.
//
// After each test every object that was reported is in the store with the right
// checksum, every other one is in the errors and no slot is taken; after all of them no
// goroutine is left. The figures depend on the machine; go test -v prints them all at the end.
// Without E2E_RUNS the jobs are short, several tests run at a time, and bounds on time allow
// for noise. E2E_RUNS=5 is in earnest, for a quiet machine: longer jobs, pauses and outages,
// and laws are compared by five runs of each in turn, of whose medians the bounds hold.
package e2e
