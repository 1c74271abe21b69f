// Package pages holds what the pages say of blocks, outages, strangers, quotas and backups, by long runs of the limiter: their
// parts have tests of their own.
package pages

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// anyURL is for requests that a base without a network gets.
const anyURL = "http://service.example/"

// base is an http.RoundTripper made of a function.
type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answers is a base that answers every request.
func answers(status int, header http.Header, body io.ReadCloser) base {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: header, Body: body, Request: req, ContentLength: -1,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// empty is a base that answers everything, with no body.
var empty = answers(200, nil, http.NoBody)

// text is a body with a text in it.
func text(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// parsed is an answer from its bytes.
func parsed(t *testing.T, bytes string) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.TrimLeft(bytes, "\n"))), nil)
	require.NoError(t, err)
	return resp
}

// get is a GET request with the context.
func get(ctx context.Context, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	return req
}

// clientOn is httplimit.NewClient over that base.
func clientOn(base http.RoundTripper, l *aimd.Limiter) *http.Client {
	return (&httplimit.Transport{Base: base, Limiter: l}).Client()
}
