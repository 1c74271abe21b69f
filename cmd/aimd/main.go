// Command aimd measures congestion control against other ways to use a limited service, uploads files with it, and puts it
// in front of a service as a proxy: aimd -h lists its commands, and each has -h with examples.
package main

import "github.com/aimd-go/aimd/cmd/aimd/tool"

func main() { tool.Main(nil) }
