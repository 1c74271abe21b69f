package main

import (
	"net/http"
	"os"
)

func main() {
	resp, err := http.DefaultClient.Get(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	resp.Body.Close()
}
