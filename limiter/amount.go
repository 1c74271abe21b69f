package limiter

import (
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

// mostAmount is the largest amount: the largest number of a quota. longestGap is the longest gap after a send, by
// Settings.MaxAmountRate as by the least MaxRate. Our choice.
const (
	mostAmount = 1e12
	longestGap = 10_000 * time.Second
)

// Allowed returns nil for an amount of 0, which is not said. It returns an error for another amount that is no number
// from 1 to 1e12, that needs a gap of more than 10 000 s by Settings.MaxAmountRate, or that is above the limit of a
// quota that the service reports, for MaxRetryAfter.
func (g *Gate) Allowed(now time.Duration, amount float64) error {
	if amount == 0 {
		return nil
	}
	if err := check.Number("amount", &amount, 1, 1, mostAmount); err != nil {
		return err
	}
	if most := g.rules.MaxAmountRate * longestGap.Seconds(); most > 0 && amount > most {
		return check.Wrong("amount", check.Plain(amount), "at most %s, %v of MaxAmountRate", check.Plain(most), longestGap)
	}
	if g.told == nil {
		return nil
	}
	if q, above := g.told.Above(g.seen(now), amount); above {
		return check.Wrong("amount", check.Plain(amount), "at most %s, the service's limit of %s", check.Plain(q.Limit), q.Name)
	}
	return nil
}

// Used notes what an attempt in flight costs in fact, in the place of the amount that its operation said. The gap of
// Settings.MaxAmountRate is longer by the difference, by MaxRetryAfter at most, or shorter. An amount that is no
// number from 0 to 1e12 has no effect, since it may be a service that says it.
func (g *Gate) Used(now time.Duration, t window.Ticket, amount float64) {
	if !g.Has(t) || !(amount >= 0 && amount <= mostAmount) {
		return
	}
	if g.told == nil {
		g.told = g.newTold(now)
	}
	amount = max(1, amount)
	said := g.told.amounts[t.ID()]
	g.told.said(t.ID(), amount)
	if rate := g.amountRate(); rate > 0 {
		g.Spent += amount - max(1, said)
		more := min((amount-max(1, said))/rate, g.rules.MaxRetryAfter.Seconds())
		more = max(more, -longestGap.Seconds())
		g.spacing.last = min(max(g.spacing.last+time.Duration(more*float64(time.Second)), longAgo), g.seen(now)+g.rules.MaxRetryAfter)
	}
}

// counts adds n attempts of the amount to those in flight that have no answer yet; n is 1 or -1.
func (t *told) counts(n int, amount float64) {
	if t.Said += n; t.Said == 0 {
		t.Pending = 0 // without the errors of rounding
	} else {
		t.Pending += float64(n) * amount
	}
}

// said notes the amount of an attempt in flight, in the place of the amount that it had.
func (t *told) said(number uint64, amount float64) {
	t.begins(number)
	t.amounts[number] = amount
	if _, begun := t.heads[number]; !begun {
		t.counts(1, amount)
	}
}

// begins returns the amount of an attempt whose answer begins, or which ends without an answer; 0: it is not said.
func (t *told) begins(number uint64) float64 {
	amount := t.amounts[number]
	if _, begun := t.heads[number]; amount > 0 && !begun {
		t.counts(-1, amount)
	}
	return amount
}
