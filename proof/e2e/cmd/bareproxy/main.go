// Command bareproxy is a httputil.ReverseProxy with no more than a connection for each request: what any proxy of Go costs.
package main

import (
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	listen, to := os.Args[1], os.Args[2]
	u, err := url.Parse(to)
	if err != nil {
		log.Fatal(err)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns, base.MaxIdleConnsPerHost = 0, 10_000
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: base}
	log.Fatal(http.ListenAndServe(listen, proxy))
}
