package main

import (
	"net/http"
	"os"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

func main() {
	l, err := aimd.New(aimd.Config{})
	if err != nil {
		os.Exit(1)
	}
	var client *http.Client = httplimit.NewClient(l)
	resp, err := client.Get(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	resp.Body.Close()
}
