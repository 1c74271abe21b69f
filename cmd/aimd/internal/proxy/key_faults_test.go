package proxy

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program whose credential is new in each request has one limiter all the same: by the parameter that says who signs, by
// what stands before the signature, or by the scheme alone. Two programs have two, where the credential tells them apart.
func TestOneProgramHasOneLimiter(t *testing.T) {
	jwt := func(claims string) string { return base64.RawURLEncoding.EncodeToString([]byte(claims)) }
	for what, form := range map[string]func(who string, i int) string{
		"OAuth 1 of oauthlib": func(who string, i int) string {
			return fmt.Sprintf(`OAuth oauth_nonce="%d", oauth_timestamp="1", oauth_signature_method="HMAC-SHA1", oauth_consumer_key="c", oauth_token="%s", oauth_signature="s%d"`, i, who, i)
		},
		"OAuth 1 with a realm": func(who string, i int) string {
			return fmt.Sprintf(`OAuth realm="", oauth_nonce="%d", oauth_consumer_key="%s"`, i, who)
		},
		"HTTP signatures, created first": func(who string, i int) string {
			return fmt.Sprintf(`Signature created=%d, keyId="tenancy/%s/key", signature="s"`, i, who)
		},
		"Digest, the nonce first": func(who string, i int) string {
			return fmt.Sprintf(`Digest nonce="%d", username="%s", realm="r"`, i, who)
		},
		"AWS": func(who string, i int) string {
			return fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/2026%d/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=s", who, i)
		},
		"AWS, the headers first": func(who string, i int) string {
			return fmt.Sprintf("AWS4-HMAC-SHA256 SignedHeaders=host, Credential=%s/2026/x, Signature=%d", who, i)
		},
		"EdgeGrid": func(who string, i int) string {
			return fmt.Sprintf("EG1-HMAC-SHA256 client_token=%s;access_token=a;timestamp=%d;nonce=n;signature=s", who, i)
		},
		"Service Bus": func(who string, i int) string {
			return fmt.Sprintf("SharedAccessSignature sr=x&sig=%d&se=%d&skn=%s", i, i, who)
		},
		"SharedKey": func(who string, i int) string { return fmt.Sprintf("SharedKey %s:%d", who, i) },
		"a JWT for each request": func(who string, i int) string {
			return fmt.Sprintf("Bearer %s.%s.s%d", jwt(`{"alg":"RS256"}`), jwt(fmt.Sprintf(`{"iss": %q, "iat": %d}`, who, i)), i)
		},
		"a JWT of a subject": func(who string, i int) string {
			return fmt.Sprintf("bearer %s.%s.s%d", jwt(`{}`), jwt(fmt.Sprintf(`{"exp": %d, "iss": "all", "sub": %q}`, i, who)), i)
		},
		// These name nobody, so all programs of the scheme are one.
		"Azure Communication Services": func(_ string, i int) string {
			return fmt.Sprintf("HMAC-SHA256 SignedHeaders=x-ms-date;host&Signature=%d/abc=", i)
		},
		"Cosmos DB": func(_ string, i int) string { return fmt.Sprintf("type%%3dmaster%%26ver%%3d1.0%%26sig%%3d%d", i) },
		"Negotiate": func(_ string, i int) string { return fmt.Sprintf("Negotiate YII%d", i) },
	} {
		p, keys := &proxy{}, map[string]int{}
		for _, who := range []string{"one", "two"} {
			for i := range 20 {
				r := httptest.NewRequest("GET", "/", nil)
				r.Header.Set("Authorization", form(who, i))
				keys[p.key(r)]++
			}
		}
		want := 2
		if form("one", 1) == form("two", 1) {
			want = 1
		}
		assert.Len(t, keys, want, what)
		assert.NotContains(t, keys, all, what)
	}
	// A token that says nothing of its sender is one sender.
	for _, token := range []string{"Bearer a.b.c", "Bearer " + jwt("{}") + "." + jwt(`{"exp": 1}`) + ".s", "Bearer sk-1", "Token token=abc", "GenieKey x"} {
		assert.Equal(t, token, credential(token))
	}
}

// --key says who sends: a header, a cookie, a parameter of the query, the program's address.
func TestWhoSaysWhoSends(t *testing.T) {
	for by, change := range map[string]string{
		"X-Tenant": "X-Tenant: %d", "cookie:sid": "Cookie: a=b; sid=%d", "query:api_key": "%d", "address": "%d",
	} {
		require.True(t, keyForm(by), by)
		p, keys := &proxy{settings: settings{by: by}}, map[string]bool{}
		for i := range 4 {
			r := httptest.NewRequest("GET", "/?api_key=same", nil)
			r.Header.Set("Authorization", fmt.Sprint("Bearer ", i))
			switch value := fmt.Sprintf(change, i%2); by {
			case "query:api_key":
				r.URL.RawQuery = "a=1&api_key=" + value
			case "address":
				r.RemoteAddr = "10.0.0." + value + fmt.Sprint(":", 1000+i)
			default:
				name, v, _ := strings.Cut(value, ": ")
				r.Header.Set(name, v)
			}
			keys[p.key(r)] = true
		}
		assert.Len(t, keys, 2, by)
		if by != "address" {
			assert.Equal(t, all, p.key(httptest.NewRequest("GET", "/", nil)), by)
		}
	}
	for _, wrong := range []string{"", "a:b", "cookie:", "query:a b", "X Y"} {
		assert.False(t, keyForm(wrong), wrong)
	}
}

// Limiters that come and go with one request each limit nothing. The log says so, once: 100 in a row, one each 6 s at least.
func TestALimiterForEachRequestIsSaid(t *testing.T) {
	for _, c := range []struct {
		requests int
		// again: each second limiter has two requests.
		again bool
		every time.Duration
		want  int
	}{{100, false, 0, 0}, {101, false, 0, 1}, {1000, false, time.Second, 1}, {1000, true, 0, 0}, {1000, false, 7 * time.Second, 0}, {1000, false, 5 * time.Second, 1}} {
		synctest.Test(t, func(t *testing.T) {
			logs := &written{}
			s := defaults
			s.to, s.keys = "http://service", 1
			p, err := newProxy(s, slog.New(slog.NewTextHandler(logs, nil)))
			require.NoError(t, err)
			for i := range c.requests {
				l, err := p.limited.For(fmt.Sprint("key ", i))
				require.NoError(t, err)
				n := 1
				if c.again {
					n += i % 2
				}
				for range n {
					require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
				}
				time.Sleep(c.every)
			}
			assert.Equal(t, c.want, strings.Count(logs.String(), "a limiter of its own"), "%+v", c)
		})
	}
}
