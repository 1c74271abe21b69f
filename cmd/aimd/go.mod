module github.com/aimd-go/aimd/cmd/aimd

go 1.25.0

require (
	github.com/johannesboyne/gofakes3 v1.2.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/ryszard/goskiplist v0.0.0-20150312221310-2dfbae5fcf46 // indirect
	go.shabbyrobe.org/gocovmerge v0.0.0-20230507111327-fa4f82cfbf4d // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/tools v0.8.0 // indirect
)
