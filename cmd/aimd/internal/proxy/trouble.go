package proxy

import "time"

// silent is the time without a success after which the log says why, whatever it is. Our choice, as aimd upload's.
const silent = 5 * time.Second

// trouble is the time of the first failure since a success, and whether the log has said so.
type trouble struct {
	failing time.Time
	said    bool
}

// troubled says a failure in the log if its limiter has had no success for so long.
func (w *wait) troubled(err error) {
	if w.pulse().fails() {
		w.proxy.log.Warn("no request succeeds", "limiter", w.key, "for", silent, "err", err)
	}
}

// fails notes a failure, and reports whether none has succeeded since one so long ago, once until one succeeds.
func (p *pulse) fails() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() || p.at().After(p.failing) {
		p.failing, p.said = time.Now(), false
	}
	first := !p.said && time.Since(p.failing) >= silent
	p.said = p.said || first
	return first
}
