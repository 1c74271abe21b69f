module github.com/aimd-go/aimd

go 1.25.0

require (
	github.com/benbjohnson/clock v1.3.5
	go.uber.org/atomic v1.12.0
)
