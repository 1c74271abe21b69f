package quota_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/internal/quota"
)

// fixed and bucket are the two kinds of quota, of requests.
func fixed(size float64, every time.Duration) *limit {
	return &limit{name: "requests", size: size, every: every}
}

func bucket(size float64, every time.Duration) *limit {
	return &limit{name: "requests", size: size, every: every, bucket: true}
}

// tokens is a bucket that a request spends 20 to 220 of.
func tokens(size float64, every time.Duration) *limit {
	return &limit{name: "tokens", size: size, every: every, bucket: true, cost: func(r *rand.Rand) float64 {
		return math.Round(20 + 200*r.Float64())
	}}
}

// upward and downward round the time to the reset to whole seconds.
func upward(r quota.Report, _ bool) (quota.Report, bool) {
	r.Reset = time.Duration(math.Ceil(r.Reset.Seconds())) * time.Second
	return r, true
}

func downward(r quota.Report, _ bool) (quota.Report, bool) {
	r.Reset = r.Reset.Truncate(time.Second)
	return r, true
}

// What a client with more work than the quota allows gets of it, and the refusals of an hour.
func TestAQuotaIsUsedUpWithoutRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		world
		rate    float64 // that the service gives, a second
		refused float64 // an hour and client
	}{
		"60 a minute":                {world{limits: []*limit{fixed(60, time.Minute)}}, 1, 5},
		"60 a minute, rounded up":    {world{limits: []*limit{fixed(60, time.Minute)}, reports: upward}, 1, 5},
		"60 a minute, rounded down":  {world{limits: []*limit{fixed(60, time.Minute)}, reports: downward}, 1, 5},
		"GitHub":                     {world{limits: []*limit{fixed(5000, time.Hour)}, reports: upward}, 5000. / 3600, 3},
		"a bucket":                   {world{limits: []*limit{bucket(60, time.Minute)}}, 1, 5},
		"a bucket, rounded up":       {world{limits: []*limit{bucket(60, time.Minute)}, reports: upward}, 1, 5},
		"requests and tokens":        {world{limits: []*limit{bucket(500, time.Minute), tokens(60_000, time.Minute)}}, 500. / 60, 5},
		"many requests, few tokens":  {world{limits: []*limit{bucket(2000, time.Minute), tokens(60_000, time.Minute)}}, 500. / 60, 5},
		"4 clients of 60 a minute":   {world{clients: 4, limits: []*limit{fixed(60, time.Minute)}}, 1, 10},
		"16 clients":                 {world{clients: 16, limits: []*limit{fixed(60, time.Minute)}}, 1, 30},
		"4 clients of a bucket":      {world{clients: 4, limits: []*limit{bucket(60, time.Minute)}}, 1, 10},
		"a hundred in ten seconds":   {world{limits: []*limit{fixed(100, 10*time.Second)}, reports: upward}, 10, 5},
		"a reserve of half a bucket": {world{limits: []*limit{bucket(60, time.Minute)}, reserve: 0.5}, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []float64
			for seed := range uint64(3) {
				w := c.world
				w.seed, w.until = seed, time.Hour
				if w.clients > 1 {
					w.until = 21 * time.Minute
				}
				w.run()
				share := float64(w.accepted) / (c.rate * w.until.Seconds())
				assert.GreaterOrEqual(t, share, 0.98)
				if w.clients > 1 {
					w.refused = 3 * w.settled
				}
				refused = append(refused, float64(w.refused)/float64(max(1, w.clients)))
				assert.GreaterOrEqual(t, w.fairness(), 0.95)
			}
			assert.LessOrEqual(t, slices.Sorted(slices.Values(refused))[1], c.refused, "%v", refused)
		})
	}
}

// A job that fits into the quota is not paced, and one that does not takes the least time.
func TestAJobIsNotSlowed(t *testing.T) {
	for name, c := range map[string]struct {
		world
		most time.Duration
	}{
		"60 of 60 a minute":       {world{jobs: 60, limits: []*limit{fixed(60, time.Minute)}}, 2 * time.Second},
		"60 of a bucket":          {world{jobs: 60, limits: []*limit{bucket(60, time.Minute)}}, 2 * time.Second},
		"150 of 60 a minute":      {world{jobs: 150, limits: []*limit{fixed(60, time.Minute)}}, 126 * time.Second},
		"150 of a bucket":         {world{jobs: 150, limits: []*limit{bucket(60, time.Minute)}}, 94500 * time.Millisecond},
		"1000 of GitHub":          {world{jobs: 1000, limits: []*limit{fixed(5000, time.Hour)}, reports: upward}, 2 * time.Second},
		"150 of 60 in 10 seconds": {world{jobs: 150, limits: []*limit{fixed(60, 10*time.Second)}, reports: upward}, 21 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				w := c.world
				w.seed, w.until = seed, time.Hour
				w.run()
				assert.Equal(t, w.jobs, w.accepted)
				assert.Zero(t, w.refused)
				assert.LessOrEqual(t, w.done, c.most)
			}
		})
	}
}

// Reports that are wrong or missing cost little time against no reports at all.
func TestFalseReportsCostLittle(t *testing.T) {
	replaced := func(reports func(quota.Report) quota.Report) func(quota.Report, bool) (quota.Report, bool) {
		return func(r quota.Report, _ bool) (quota.Report, bool) { return reports(r), true }
	}
	slots := world{jobs: 5000, slots: 32, limits: []*limit{fixed(1e9, time.Minute)}}
	minute := world{jobs: 1800, limits: []*limit{fixed(60, time.Minute)}}
	for name, c := range map[string]struct {
		world
		reports func(quota.Report, bool) (quota.Report, bool)
	}{
		"never any left": {slots, replaced(func(r quota.Report) quota.Report {
			return quota.Report{Name: r.Name, Limit: 60, Reset: time.Minute}
		})},
		"always all left": {minute, replaced(func(r quota.Report) quota.Report {
			return quota.Report{Name: r.Name, Limit: 60, Left: 60, Reset: time.Minute}
		})},
		"no reset":          {minute, replaced(func(r quota.Report) quota.Report { r.Reset = -1; return r })},
		"rounded to tens":   {minute, replaced(func(r quota.Report) quota.Report { r.Left -= math.Mod(r.Left, 10); return r })},
		"only if refused":   {minute, func(r quota.Report, refused bool) (quota.Report, bool) { return r, refused }},
		"five minutes late": {minute, replaced(func(r quota.Report) quota.Report { r.Reset += 5 * time.Minute; return r })},
		"a quota too wide":  {slots, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var took, without time.Duration
			for seed := range uint64(3) {
				w := c.world
				w.seed, w.until, w.reports = seed, 10*time.Hour, c.reports
				silent := w
				silent.silent = true
				w.run()
				silent.run()
				assert.Equal(t, w.jobs, w.accepted)
				took += w.done
				without += silent.done
			}
			assert.LessOrEqual(t, took.Seconds(), 1.05*without.Seconds())
		})
	}
}
