package proxy

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

var (
	// target is a URI of a Link, goal the URI of a Refresh.
	target = regexp.MustCompile(`<[^>]*>`)
	goal   = regexp.MustCompile(`(?i)(url *= *["']?)([^"';]+)`)
	// domain and below are the attributes of a Set-Cookie that say where it goes.
	domain = regexp.MustCompile(`(?i); *domain *= *\.?([^; ]*) *`)
	below  = regexp.MustCompile(`(?i)(; *path *= *)(/[^;]*)`)
)

// inside makes an address of the service in the head of an answer one of the proxy, by the name that the program asked:
// else a program that follows it goes around the limiter. An address of anything else stays. A body stays as it is.
func (p *proxy) inside(resp *http.Response) error {
	for _, name := range [...]string{"Location", "Content-Location", "Link", "Refresh", "Set-Cookie"} {
		for i, v := range resp.Header[name] {
			resp.Header[name][i] = p.value(waitOf(resp.Request), name, v)
		}
	}
	return nil
}

// value is the value of such a header.
func (p *proxy) value(w *wait, name, v string) string {
	named := func(ref string) string { return p.named(w, ref) }
	switch name {
	case "Link":
		return target.ReplaceAllStringFunc(v, func(ref string) string { return "<" + named(ref[1:len(ref)-1]) + ">" })
	case "Refresh":
		return second(goal, v, named)
	case "Set-Cookie":
		if m := domain.FindStringSubmatch(v); m != nil && covers(m[1], p.target.Hostname()) {
			v = strings.Replace(v, m[0], "", 1) // it is for the name that was asked
		}
		return second(below, v, p.short)
	}
	return named(v)
}

// second replaces what the second group matches.
func second(of *regexp.Regexp, v string, f func(string) string) string {
	m := of.FindStringSubmatchIndex(v)
	if m == nil {
		return v
	}
	return v[:m[4]] + f(v[m[4]:m[5]]) + v[m[5]:]
}

// covers reports whether a cookie of the domain is for the host.
func covers(domain, host string) bool {
	domain, host = strings.ToLower(domain), strings.ToLower(host)
	return domain == host || strings.HasSuffix(host, "."+domain)
}

// named is the reference by the name that the program asked, if it is to the service and below the path of --to.
func (p *proxy) named(w *wait, ref string) string {
	u, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	if u.Host == "" {
		return p.short(ref)
	}
	scheme := strings.ToLower(cmp.Or(u.Scheme, p.target.Scheme))
	if scheme != p.target.Scheme || !sameHost(scheme, u.Host, p.target.Host) && !(p.keepHost && sameHost(scheme, u.Host, w.host)) {
		return ref
	}
	_, rest, _ := strings.Cut(ref, "//")
	i := strings.IndexAny(rest+"/", "/?#")
	short := p.short(rest[i:])
	if p.path != "" && short == rest[i:] {
		return ref // the proxy does not lead there
	}
	return w.scheme + "://" + w.host + short
}

func sameHost(scheme, a, b string) bool {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.EqualFold(strings.TrimSuffix(a, port), strings.TrimSuffix(b, port))
}

// short is a path without the path of --to, as the program asks for it. Any other reference stays.
func (p *proxy) short(ref string) string {
	rest, ok := strings.CutPrefix(ref, p.path)
	switch {
	case p.path == "", !ok:
		return ref
	case rest == "", rest[0] == '?', rest[0] == '#':
		return "/" + rest
	case rest[0] == '/':
		return rest
	}
	return ref
}
