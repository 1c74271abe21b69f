package limiter

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/attempt"
)

// contact is what a limiter knows of whether there is somebody at the other end.
type contact struct {
	// made: an attempt was answered.
	made atomic.Bool
	// away is when nobody was there for the first time since the last answer, since the
	// limiter was made, and one; 0: the service is there.
	away atomic.Int64
	// suspected: the observer was told of a suspect error.
	suspected atomic.Bool
}

func (s *slots) Reached() bool { return s.contact.made.Load() }

func (s *slots) Contact(answered bool, err error) (made bool, reason error) {
	l := s.limiter()
	c := &l.contact
	if answered {
		if !c.made.Load() {
			c.made.Store(true)
		}
		if c.away.Load() != 0 {
			c.away.Store(0)
		}
		return true, nil
	}
	now := l.now()
	if c.away.CompareAndSwap(0, int64(now)+1) {
		l.tell(Event{Kind: Away, Err: err})
	}
	if c.made.Load() {
		return true, nil
	}
	if left, bounded := s.contactTime(now); bounded && left <= 0 {
		return false, fmt.Errorf("%w in %v", attempt.ErrNoContact, l.config.Load().FirstContact)
	}
	return false, nil
}

// contactTime is how long operations may still try to reach a service that was never
// there, and false where that has no bound.
func (s *slots) contactTime(now time.Duration) (time.Duration, bool) {
	c, most := &s.contact, s.limiter().config.Load().FirstContact
	away := c.away.Load()
	if most < 0 || away == 0 || c.made.Load() {
		return 0, false
	}
	return most - (now - time.Duration(away-1)), true
}

func (s *slots) InContact(delay time.Duration) time.Duration {
	if left, bounded := s.contactTime(s.limiter().now()); bounded {
		return min(delay, max(0, left)) // to report it in time
	}
	return delay
}

func (s *slots) Suspect(err error) {
	if !s.contact.suspected.Swap(true) {
		s.limiter().tell(Event{Kind: Suspect, Err: err})
	}
}

// tell tells the observer of an event that changes nothing.
func (l *Limiter) tell(e Event) {
	l.mu.Lock()
	now := l.now()
	l.note(now, e)
	l.unlock(now)
}
