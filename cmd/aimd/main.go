// Command aimd measures congestion control against other ways to use a limited service (demo, sim), uploads files to S3 with
// it (upload), puts it in front of a service (proxy), and runs a command again with backoff (retry). Each has -h with examples.
package main

import "github.com/aimd-go/aimd/cmd/aimd/tool"

func main() { tool.Main(nil) }
