package remote

import "net/http"

// Transport returns a RoundTripper that sends requests with base (nil: http.DefaultTransport), except
// requests of features that are off. Within a httplimit.Transport it also refuses requests whose feature was
// turned off while they waited for a slot:
//
//	features.Transport(httplimit.New(features.Transport(nil), lim))
func (f *Features) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return transport{f, base}
}

type transport struct {
	features *Features
	http.RoundTripper
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.features.Admit(req.Context(), 0); err != nil {
		if req.Body != nil {
			req.Body.Close() // a RoundTripper always does
		}
		return nil, err
	}
	return t.RoundTripper.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections of the base, if it can.
func (t transport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
