// Package e2e tests the limiter against real servers and real faults. It exports no names.
//
// The servers are versitygw, an S3 server with its own cap on requests (see cmd/slowgw),
// nginx with limit_conn and limit_req, and haproxy with a stick table and with a queue. The
// tests start and stop them on free ports of 127.0.0.1. Debian's packages are nginx-light
// and haproxy; if one is missing, its tests fail and name it. The service
// behind them is ours, and so is the link of 100 Mbit/s to it, in TestUplink.
// TestStorm uses the programs of "How not to crash a server": aimd server and aimd client.
//
// TestAsynq and TestRiver run worker processes of two job engines, on redis-server and on
// PostgreSQL, which keep their data below the test's temporary folder. TestFleet runs the
// program of examples/fleet.
//
// TestAnyLanguage, TestThreePrograms and TestRestarts run python3 and curl through aimd proxy.
//
// TestOverload sends a handler of httplimit.NewHandler twice the load that the service can serve.
// TestInterruptedUploads stops and kills the process of aimd upload.
//
// TestSDKsWithinTheirQuota calls, with the SDKs of real services, servers that report and enforce quotas as
// the services document it.
//
// Prometheus and promtool read the metrics of a limiter at work.
//
// TestOneOfFourBackendsRefuses, TestHalfOfTheRequestsRefused and TestUploadVersusReno compare
// the default law with Reno 0.9 where refusals or slow answers do not come from the load.
//
// After each test, the store holds every object with the right checksum, and no slot is taken.
// At the end no goroutine is left.
//
// The figures depend on the machine; go test -v prints them at the end. Without
// E2E_RUNS the jobs are short, several tests run at a time (make e2e sets -parallel), and
// bounds on time allow for noise. E2E_RUNS=5 is for a quiet machine: jobs, pauses and outages are longer, each law
// runs five times in turn, and the bounds hold for the medians.
package e2e
