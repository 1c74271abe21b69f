package proxy

import (
	"bufio"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An address of the service in the head of an answer would lead the program around the proxy: registries answer an upload
// with a Location, APIs a page with Link, and clients follow them. It has the name that the program asked. All else stays.
func TestLinksStayInside(t *testing.T) {
	base := func(s *settings) { s.to = "http://service/api" }
	kept := func(s *settings) { s.keepHost = true }
	secure := func(s *settings) { s.to = "https://service" }
	for _, c := range []struct {
		name, says, want string
		change           func(*settings)
	}{
		{"Location", "http://service/v2/uploads/1?_state=a#x", "http://127.0.0.1:8020/v2/uploads/1?_state=a#x", nil},
		{"Location", "HTTP://Service:80/a%2Fb//c", "http://127.0.0.1:8020/a%2Fb//c", nil},
		{"Location", "http://service", "http://127.0.0.1:8020", nil},
		{"Location", "//service/a", "http://127.0.0.1:8020/a", nil},
		{"Location", "http://service:81/a", "http://service:81/a", nil},
		{"Location", "https://service/a", "https://service/a", nil}, // or it would never get there
		{"Location", "http://service.example.com/a", "http://service.example.com/a", nil},
		{"Location", "http://elsewhere/?to=http://service/", "http://elsewhere/?to=http://service/", nil},
		{"Location", "/files/1", "/files/1", nil},
		{"Location", "http://[::1", "http://[::1", nil},
		{"Location", "http://service/api/1", "http://127.0.0.1:8020/1", base},
		{"Location", "http://service/api?a=1", "http://127.0.0.1:8020/?a=1", base},
		{"Location", "http://service/apis/1", "http://service/apis/1", base},
		{"Location", "/api/1", "/1", base},
		{"Location", "/other", "/other", base},
		{"Location", "1?a=/api/", "1?a=/api/", base},
		{"Location", "http://127.0.0.1:8020/a", "http://127.0.0.1:8020/a", kept},
		{"Location", "https://service:443/a", "http://127.0.0.1:8020/a", secure},
		{"Content-Location", "http://service/items/1", "http://127.0.0.1:8020/items/1", nil},
		{"Link", `<http://service/items?page=2>; rel="next", <http://elsewhere/9>; rel="last"`,
			`<http://127.0.0.1:8020/items?page=2>; rel="next", <http://elsewhere/9>; rel="last"`, nil},
		{"Refresh", "5; url=http://service/wait", "5; url=http://127.0.0.1:8020/wait", nil},
		{"Refresh", `0;URL="http://service/wait"`, `0;URL="http://127.0.0.1:8020/wait"`, nil},
		{"Refresh", "5", "5", nil},
		{"Set-Cookie", "a=http://service/; Domain=service; Path=/; Secure", "a=http://service/; Path=/; Secure", nil},
		{"Set-Cookie", "a=1; Path=/api/x; domain=.SERVICE", "a=1; Path=/x", base},
		{"Set-Cookie", "a=1; Domain=elsewhere", "a=1; Domain=elsewhere", nil},
		{"X-Other", "http://service/", "http://service/", nil},
	} {
		t.Run(c.name+" "+c.says, func(t *testing.T) {
			p := &proxy{}
			inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(c.name, c.says)
				w.WriteHeader(http.StatusFound)
				_, _ = io.WriteString(w, "http://service/")
			}), c.change, func(t *testing.T, b bubble) {
				if b.target.Scheme == "https" { // it speaks no TLS here
					p = b.proxy
					w := &wait{host: "127.0.0.1:8020", scheme: "http"}
					assert.Equal(t, c.want, p.named(w, c.says))
					return
				}
				conn, err := b.programs.dial()
				require.NoError(t, err)
				defer conn.Close()
				go io.WriteString(conn, "GET /items HTTP/1.1\r\nHost: 127.0.0.1:8020\r\nConnection: close\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				assert.Equal(t, c.want, resp.Header.Get(c.name))
				assert.Equal(t, "http://service/", string(text), "a body stays as it is")
			})
		})
	}
	// Where something in front ends TLS, the program asked by https.
	inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "http://service/a") }), nil, func(t *testing.T, b bubble) {
		_, header, _ := b.ask(t, get("/", "X-Forwarded-Proto: https"))
		assert.Equal(t, "https://localhost/a", header.Get("Location"))
	})
}
