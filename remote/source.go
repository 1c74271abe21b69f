package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aimd-go/aimd/internal/check"
)

// Source is the source of documents: NewHTTP, or a type of your own, such as a file: os.ReadFile, and no mark.
type Source interface {
	// Fetch returns the present document, and a mark by which the source knows the document again (an ETag),
	// or "". have is the mark of the document in force, "" at first: if the mark is the same, the data may be
	// nil. One goroutine at a time calls it. It must end when ctx ends, and should read at most 256 KiB.
	Fetch(ctx context.Context, have string) (data []byte, mark string, err error)
	// String names the source in errors and in Snapshot. It holds no secrets.
	String() string
}

// The most bytes of a header that is read, and of an ETag that is kept. Our choice.
const maxHeader, maxMark = 64 << 10, 256

type webSource struct {
	url    *url.URL
	client *http.Client
	header http.Header
}

// NewHTTP returns a source that fetches the document at an address with GET, and with the last ETag in
// If-None-Match: an unchanged document is a 304 without a body (RFC 9110, section 13.1.2). It reads a 200 of type
// application/json, of a type that ends in +json, or of text/plain, as from file servers: 256 KiB at most, after
// decompression.
//
// The client sends the requests; nil means a client that keeps no connection open between fetches. Unless the
// client has a CheckRedirect, no redirect is followed, since the next host could read the header. The header, such
// as "Authorization", is sent with each request, except Accept, Accept-Encoding and If-None-Match. It may be nil.
//
// The source's name is the address without user, password and query.
func NewHTTP(address string, client *http.Client, header http.Header) (Source, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("remote: address: %w", unnamed(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("remote: %w", check.Wrong("address", strconv.Quote(named(u)), "one that begins with http:// or https:// and a host"))
	}
	h := &webSource{url: u, client: &http.Client{}, header: header.Clone()}
	if client != nil {
		*h.client = *client
	} else {
		h.client.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
		}
	}
	if h.client.CheckRedirect == nil {
		h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return h, nil
}

// String is the address without user, password and query.
func (h *webSource) String() string { return named(h.url) }

func named(u *url.URL) string {
	// Opaque is the part of "localhost:80/a" after the colon.
	opaque := u.Opaque[strings.LastIndex(u.Opaque, "@")+1:]
	return (&url.URL{Scheme: u.Scheme, Opaque: opaque, Host: u.Host, Path: u.Path}).String()
}

// unnamed is the error without the address, which may hold a secret.
func unnamed(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Fetch implements Source. The mark is the ETag.
func (h *webSource) Fetch(ctx context.Context, have string) (data []byte, mark string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("remote: GET %s: %w", h, unnamed(err))
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url.String(), nil)
	if err != nil {
		return nil, "", err
	}
	maps.Copy(req.Header, h.header)
	req.Header.Set("Accept", "application/json")
	req.Header.Del("Accept-Encoding") // with one of the user's the transport would leave the answer compressed
	req.Header.Del("If-None-Match")
	if have != "" && isMark(have) {
		req.Header.Set("If-None-Match", have)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	kind := resp.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	switch {
	case resp.StatusCode == http.StatusNotModified && have != "":
		return nil, have, nil
	case resp.StatusCode != http.StatusOK:
		// Not resp.Status: the words in it are the server's.
		return nil, "", fmt.Errorf("status: %d %s is not allowed, want 200", resp.StatusCode, http.StatusText(resp.StatusCode))
	case err != nil || media != "application/json" && media != "text/plain" && !strings.HasSuffix(media, "+json"):
		return nil, "", fmt.Errorf("content type: %q is not allowed, want application/json or text/plain", cut(kind, 60))
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxSize+1)) // Parse refuses what is longer than maxSize
	if err != nil {
		return nil, "", err
	}
	if mark = resp.Header.Get("ETag"); !isMark(mark) {
		mark = ""
	}
	return data, mark, nil
}

// isMark reports whether an ETag is fit to be kept and sent back: short, and of visible ASCII.
func isMark(etag string) bool {
	return len(etag) <= maxMark && !strings.ContainsFunc(etag, func(r rune) bool { return r < ' ' || r > '~' })
}
