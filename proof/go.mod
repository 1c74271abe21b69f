module github.com/aimd-go/aimd/proof

go 1.25.0

require (
	github.com/aimd-go/aimd v0.1.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/atomic v1.12.0
)

require (
	github.com/benbjohnson/clock v1.3.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/aimd-go/aimd => ..
