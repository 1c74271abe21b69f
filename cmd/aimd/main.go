// Command aimd measures congestion control against other ways to use a limited service, and uploads files with it:
//
//	aimd demo       uploads objects to a store that says SlowDown, once per strategy
//	aimd demo api   sends requests to an API that says 429, once per strategy
//	aimd sim        simulates services, clients and strategies, and draws figures
//	aimd retry      runs a command until it succeeds, with backoff
//	aimd upload     uploads files and directories to S3, verified and resumable
//	aimd proxy      puts a limiter in front of a service, for programs in any language
//	aimd completion writes a shell's completion
//
// Every command has -h with examples.
package main

import "github.com/aimd-go/aimd/cmd/aimd/tool"

func main() { tool.Main(nil) }
