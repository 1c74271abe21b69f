package proxy

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd/httplimit"
)

// limiterOf names the limiter of a request.
func (p *proxy) limiterOf(r *http.Request) string {
	if p.classes == "" {
		return p.key(r)
	}
	return p.key(r) + " " + httplimit.ReadWrite(r)
}

// keyForm is what --key takes.
var keyForm = regexp.MustCompile(`^([0-9A-Za-z-]+|(cookie|query):[!-~]+)$`).MatchString

// key names who sends a request: a part of the hash of the credential, or of what --key says, which tells keys apart and
// says nothing of the credential. No credential is kept.
func (p *proxy) key(r *http.Request) string {
	headers := []string{p.by}
	switch kind, name, _ := strings.Cut(p.by, ":"); {
	case p.one:
		return all
	case p.by == "":
		headers = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}
	case p.by == "address":
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		return keyed(p.by, host)
	case kind == "cookie":
		if c, err := r.Cookie(name); err == nil {
			return keyed(p.by, c.Value)
		}
	case kind == "query":
		if v := r.URL.Query()[name]; len(v) > 0 {
			return keyed(p.by, v...)
		}
	}
	for _, name := range headers {
		if v := r.Header.Values(name); len(v) > 0 {
			return keyed(name, v...)
		}
	}
	// A URL that was signed by AWS's rules has what is else in the header.
	if _, id, ok := strings.Cut(r.URL.RawQuery, "X-Amz-Credential="); ok && p.by == "" {
		return keyed("Authorization", "AWS4-HMAC-SHA256 Credential="+id[:strings.IndexAny(id+"&", "%/&")]+"/")
	}
	return all
}

const all = "all"

func keyed(header string, values ...string) string {
	value := strings.Join(values, "\x00")
	if strings.EqualFold(header, "Authorization") {
		value = credential(value)
	}
	sum := sha256.Sum256([]byte(header + "\x00" + value))
	return "key " + hex.EncodeToString(sum[:8])
}

// who are the parameters of a credential that say who signs: of AWS and its like, of HTTP signatures, Digest, OAuth 1,
// Hawk, Akamai's EdgeGrid, Azure's Service Bus and Rails' tokens.
var who = regexp.MustCompile(`(?i)\b(credential|keyid|access|username|oauth_consumer_key|oauth_token|id|client_token|access_token|skn|token)=("[^"]*"|[^",/&; ]*)`)

// credential is the part of an Authorization that is the same in each request of a program. That is all of a Basic or a
// bare key. A token that names its sender, as a JWT does, may be new in each request. Other schemes sign each request:
// there it is the parameters that name the sender, or what stands before the signature ("SharedKey ID:signature"), or
// the scheme alone.
func credential(value string) string {
	scheme, rest, two := strings.Cut(value, " ")
	if !two {
		if plain, err := url.QueryUnescape(value); err == nil {
			value, _, _ = strings.Cut(plain, "&sig=") // Cosmos DB escapes the whole value
		}
		return value
	}
	switch strings.ToLower(scheme) {
	case "basic":
		return value
	case "bearer", "token", "dpop", "jwt":
		if sender := claims(rest); sender != "" {
			return scheme + sender
		}
		if !strings.Contains(rest, "=") || !strings.Contains(rest, ",") {
			return value
		}
	case "negotiate", "ntlm":
		return scheme // by the connection
	}
	if named := who.FindAllString(rest, -1); named != nil {
		return scheme + strings.Join(named, ",")
	}
	switch i := strings.IndexAny(rest, ",/:&;"); {
	case i < 0:
		return value
	case strings.Contains(rest[:i], "="):
		return scheme // the rest may be new in each request
	default:
		return scheme + rest[:i]
	}
}

// claims are the claims of a JWT that name its sender, empty for any other token. They are not verified: the service
// does that.
func claims(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var named struct {
		Iss, Sub, Azp any
		ClientID      any `json:"client_id"`
	}
	if err != nil || json.Unmarshal(text, &named) != nil || named.Iss == nil && named.Sub == nil {
		return ""
	}
	text, _ = json.Marshal(named)
	return string(text)
}

// strangers notices limiters that come and go with one request each: what says who sends is then new in each request.
type strangers struct {
	mu sync.Mutex
	// n limiters in a row have had a request at most, since that time; said: the log has it.
	n     int
	since time.Time
	said  bool
}

// manyStrangers in that time are one each 6 s at least: a program that comes once in a while is not among them. Our
// choice.
const (
	manyStrangers = 100
	strangersIn   = 10 * time.Minute
)

// many notes that a limiter went after so many attempts. It reports true once: when many went after one.
func (s *strangers) many(attempts uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if attempts > 1 || time.Since(s.since) > strangersIn {
		s.n, s.since = 0, time.Now()
	}
	if attempts <= 1 {
		s.n++
	}
	now := s.n >= manyStrangers && !s.said
	s.said = s.said || now
	return now
}

// mostPatience is the longest time that a header is believed. Our choice.
const mostPatience = 24 * time.Hour

// patienceOf is the time for which a program waits for the head of an answer. A header of its SDK, gRPC or Envoy says
// it; 0: no header does.
func patienceOf(h http.Header) time.Duration {
	for _, of := range patiences {
		if v := h[of.name]; len(v) == 1 {
			unit := of.unit
			if n := len(v[0]); unit == 0 && n > 0 { // gRPC: 8 digits and a unit
				unit, v = grpcUnits[v[0][n-1]], []string{v[0][:n-1]}
			}
			x, err := strconv.ParseFloat(strings.TrimSpace(v[0]), 64)
			if d := x * float64(unit); err == nil && d >= float64(time.Millisecond) && d <= float64(mostPatience) {
				return time.Duration(d)
			}
		}
	}
	return 0
}

var patiences = []struct {
	name string
	unit time.Duration
}{
	{"X-Stainless-Timeout", time.Second}, {"X-Stainless-Read-Timeout", time.Second}, // OpenAI's and Anthropic's SDKs
	{"Grpc-Timeout", 0}, {"X-Envoy-Expected-Rq-Timeout-Ms", time.Millisecond}, {"Request-Timeout", time.Second},
}

var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}
