// Package e2e tests the limiter against real servers and real faults. It exports no names.
//
// The servers are versitygw, an S3 server with its own cap on requests (see cmd/slowgw),
// nginx with limit_conn and limit_req, and haproxy with a stick table. The
// tests start and stop them on free ports of 127.0.0.1. Debian's packages are nginx-light
// and haproxy; if one is missing, its tests fail and name it. The service
// behind them is ours.
// TestStorm uses the programs of "How not to crash a server": examples/storm.
//
// TestEngines kills a worker process of two job engines, on redis-server and on PostgreSQL, which keep their
// data below the test's temporary folder. TestFleet runs the program of examples/fleet.
//
// TestAnyLanguage, TestThreePrograms and TestRestarts run python3 and curl through aimd proxy.
//
// TestPackages makes what people install who have no Go, and runs it from an archive, a deb, an rpm, the image and npm.
// TestPeers has aimd upload beside s5cmd, rclone and mc; the environment variable S5CMD names its program.
//
// TestInterruptedUploads stops and kills the process of aimd upload.
// TestUploadsInCompany runs thirty such processes on one store.
//
// Prometheus and promtool read the metrics of a limiter at work.
//
// What needs no real server is in the simulator: refusals and slow answers that do not come from the load
// (aimd sim run harm), limits of requests a second, overload, outages, uplinks, reported quotas, and windows that share
// a service.
//
// After each test, the store holds every object with the right checksum, and no slot is taken.
// At the end no goroutine is left.
//
// The figures depend on the machine; go test -v prints them at the end. Without
// E2E_QUIET the jobs are short, several tests run at a time (make e2e sets -parallel), and
// bounds on time allow for noise. E2E_QUIET=1 is for a quiet machine: jobs, pauses and outages are longer, and the
// bounds are the real ones. Laws are compared in the simulator.
package e2e
