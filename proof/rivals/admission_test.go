package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

const trip = 100 * time.Millisecond

// script is a law, its first window, and what happens to it, in words: "+10", "-", "!" and "?" are ten successes, a
// refusal, a timeout and an answer without a meaning; "@2s", "~50ms" and "/7" set the time, the round trip and the
// number in flight, which is the window otherwise; "%40" sets the threshold of slow start; "=21" and "=21%40" say what
// the window and the threshold are.
type script struct {
	law   window.Law
	first float64
	words string
}

func (x script) run(t *testing.T) {
	s, at, rtt, flying := window.State{Cwnd: x.first, Trip: time.Second}, time.Duration(0), trip, -1
	for _, w := range strings.Fields(x.words) {
		number, second, both := strings.Cut(w[1:], "%")
		n, err := strconv.ParseFloat(number, 64)
		d, bad := time.ParseDuration(number)
		require.True(t, number == "" || err == nil || bad == nil, w)
		switch outcome := map[byte]window.Outcome{'+': window.Success, '-': window.Overload, '?': window.Neutral, '!': window.Timeout}[w[0]]; w[0] {
		case '@':
			at = d
		case '~':
			rtt = d
		case '/':
			flying = int(n)
		case '%':
			s.Ssthresh = n
		case '=':
			assert.InDelta(t, n, s.Cwnd, 1e-6, "%s: %s", x.words, w)
			if both {
				assert.Equal(t, second, strconv.FormatFloat(s.Ssthresh, 'f', -1, 64), x.words)
			}
		default:
			for range max(1, int(n)) {
				f := flying
				if f < 0 {
					f = int(s.Cwnd)
				}
				s = x.law.Answered(at, s, window.End{Outcome: outcome, Flying: f, RTT: rtt})
			}
		}
	}
}

// scripts runs them all.
func scripts(all ...script) func(*testing.T) {
	return func(t *testing.T) {
		for _, x := range all {
			x.run(t)
		}
	}
}

// up makes a law with an upper bound.
func up(l window.Law, most float64) window.Law {
	return &bounded{Law: l, begun: true, least: 1, most: most}
}

var (
	none      window.Settings
	half      = func(limit float64) float64 { return limit / 2 }
	throttled = func(rate, beta float64) window.Law {
		return &awsAdaptive{on: true, rate: rate, measured: 1e12, beta: beta}
	}
	cut = func() window.Law {
		return &awsAdaptive{on: true, most: 10, rate: 10, k: 1.9574338205844317, failed: 5, beta: 0.7, measured: 1e12}
	}
	known = func() window.Law { return &vegas{base: 0.1, least: 1, samples: 2} }
	warm  = func() window.Law {
		return &failsafe{samples: 1, recent: average{window: 5}, base: average{window: 10, n: 10, sum: 10, value: 1}}
	}
)

// admission says for a law where its numbers are from. What is in theirs holds the law to numbers that the source published,
// most of them in its own tests. What is in ours adds what the source's tests do not name: constants that were read in the
// source, and what this package decided.
type admission struct {
	laws, repository, commit, file, licence string
	theirs, ours                            func(*testing.T)
}

// admissions has each law of the table, always with new laws.
func admissions() []admission {
	return []admission{
		{"cubic", "NTAP/rfc8312bis", "0068c7a", "RFC 9438, tables 1 and 2", "IETF Trust", cubicTheirs, scripts(
			script{newCubic(none), 100, "- =70%70 - =49%49"}, script{&cubic{most: 10}, 10, "@10s + =10.5"}, script{newCubic(none), 1, "- =1%1"}, script{newCubic(none), 100, "! =1%70"},
			script{&cubic{prior: 10, reno: 10, k: 100}, 10, "+ =10.1"}, script{&cubic{prior: 11, reno: 10, k: 100}, 10, "+ =10.052941176"},
			script{&cubic{most: 200}, 100, "- @1s + @2s + =70.156881"},
		)},
		{"vegas", "nsnam/ns-3-dev-git", "60e1e40", "src/internet/test/tcp-vegas-test.cc", "GPL-2.0: facts only", scripts(
			script{known(), 38, "@1s %40 ~106ms + =36%35"}, script{known(), 5, "@1s %10 ~118ms + =6%10"}, script{known(), 60, "@1s %40 ~206ms + =59%44.25"},
			script{known(), 15, "@1s %10 ~106ms + =16%12"}, script{known(), 20, "@1s %10 ~109ms + =20%15"},
		), scripts( // what a round trip saw is judged in the next one; a refusal halves the window, as in Reno
			script{newVegas(none), 20, "%10 @100ms +20 @205ms ~105ms +21 @310ms +20 =22 - =11%11"},
			script{newVegas(none), 20, "%10 @100ms +20 @215ms ~115ms +21 @330ms +20 =21"},
			script{newVegas(none), 20, "%10 @100ms +20 @230ms ~130ms +21 @360ms +20 =20"}, script{newVegas(none), 3, "- =2%2"},
			script{&vegas{base: 0.1, least: 1, samples: 1}, 60, "%40 @1s ~206ms + =60.016666667%40"}, script{known(), 20, "@1s %40 ~109ms + =19%18"},
			script{known(), 3, "@1s %40 ~1s + =1%2"}, script{known(), 60, "@1s %60 ~206ms + =59%58"},
		)},
		{"netflix-aimd netflix-aimd-own", "Netflix/concurrency-limits", "78a74b9", "AIMDLimitTest.java", "Apache-2.0", scripts(
			script{newNetflixAIMD(none), 20, "/10 + =21"}, script{newNetflixAIMD(none), 30, "- =27"}, script{up(newNetflixAIMD(none), 21), 21, "/11 + =21"},
		), scripts(
			script{newNetflixAIMD(none), 20, "/9 + =20 /20 ~5s + =21 ~5.000000001s + =18"}, script{newNetflixAIMD(none), 1, "- =1"},
		)},
		{"netflix-vegas", "Netflix/concurrency-limits", "78a74b9", "VegasLimitTest.java", "Apache-2.0", scripts(
			script{newNetflixVegas(none), 10, "~10ms + =10 /11 + =16"}, script{newNetflixVegas(none), 10, "~10ms + =10 /11 ~50ms + =9"},
			script{newNetflixVegas(none), 10, "~10ms + =10 /14 ~14ms + =10"}, script{newNetflixVegas(none), 10000, "~10ms /5000 + =10000 /6000 + =10024"},
			script{&netflixVegas{smooth: 1, fall: half}, 100, "~10ms + - =50 - =25"}, script{&netflixVegas{smooth: 0.5, fall: half}, 100, "~10ms + - =75 - =56.25"},
		), scripts( // at two digits up by 6 * 2, by 2 and down by 2; the base is new after 30 answers a place
			script{newNetflixVegas(none), 100, "+ - =98"}, script{newNetflixVegas(none), 100, "+ ~102ms + =112"}, script{newNetflixVegas(none), 100, "+ ~103ms + =102"},
			script{newNetflixVegas(none), 100, "+ ~105ms + =102"}, script{newNetflixVegas(none), 100, "+ ~106ms + =100"}, script{newNetflixVegas(none), 100, "+ ~113ms + =100"},
			script{newNetflixVegas(none), 100, "+ ~114ms + =98"}, script{newNetflixVegas(none), 100, "/49 + ~200ms +2998 /100 ~114ms + =100 + =112"},
			script{newNetflixVegas(none), 100, "/49 + ~200ms +2997 /100 ~114ms + =98"}, script{newNetflixVegas(none), 1, "+ - =1"},
		)},
		{"gradient2", "Netflix/concurrency-limits, platinummonkey/go-concurrency-limits", "78a74b9, 6a45bdf", "ExpAvgMeasurementTest.java, limit/gradient2_test.go", "Apache-2.0", gradient2Theirs, gradient2Ours},
		{"arc", "vectordotdev/vector", "05b56b7", "tests/data/adaptive-concurrency/*.yaml", "MPL-2.0", arcTheirs, scripts( // at its bound of 200 it falls
			script{&arc{mean: 0.1, known: true}, 199, "@1s + =200 @2s + =180"},
			script{&arc{mean: 0.1, known: true, variance: 1e-4}, 20, "~124ms + =20 @1s ~144ms + =20"}, script{&arc{mean: 0.1, known: true, variance: 1e-4}, 20, "~126ms + =18"}, script{&arc{mean: 0.1, known: true}, 1, "- =1"},
		)},
		{"aws-adaptive", "boto/botocore, smithy-lang/smithy-kotlin", "0e6e240", "test_throttling.py, the SDKs' retry cases", "Apache-2.0", scripts(
			script{throttled(10, 0.7), 10, "- =7 @1.957433821s + =10"}, script{throttled(8, 0.7), 8, "- =5.6 @1.817120593s + =8"}, script{throttled(10, 0.6), 10, "- =6"},
			script{cut(), 7, "@5s + =7 @6s + =9.648936010 @7s + =10.000030850 @8s + =10.453284521 @9s + =13.408697022 @10s + =21.266268354 @11s + =36.425998517"},
			script{cut(), 7, "@5s + =7 @6s + =9.648936010 @7s - =6.754255207 @8s - =4.727978645 @9s + =6.606547754 @10s + =6.763279817 @11s + =7.598174834 @12s + =11.511232805"},
			script{newAWSAdaptive(none), 9, "@.2s + @.4s + @.6s + @.8s + @1s + @1.2s + @1.4s + @1.6s + @1.8s + =9 @2s - =3.02848 @2.2s + =3.486639 @2.4s + =3.821874" +
				" @2.6s + =4.053386 @2.8s + =4.200373 @3s + =4.282037 @3.2s - =2.997426 @3.4s + =3.452226"},
		), scripts( // at most twice the measured rate, at least one in two seconds
			script{&awsAdaptive{on: true, most: 100, measured: 10}, 9, "@1s + =5.6"}, script{&awsAdaptive{on: true, beta: 0.7}, 9, "- =0.5"},
		)},
		{"loki", "grafana/loki", "4841fe9", "docs/sources/shared/configuration.md (its tests have no number of the rate)", "AGPL-3.0: facts only", scripts(
			script{newLoki(none), 1, "? =2000 - =1000 +20000 =10000"},
		), scripts(script{newLoki(none), 1, "+2 =2002 - =1001 - =501 -20 =1"})},
		{"scrapy", "scrapy/scrapy", "11079cb", "tests/test_extension_throttle.py", "BSD-3-Clause", scripts(
			script{&scrapy{delay: 1, target: 2}, 1, "~2s + =1"}, script{&scrapy{delay: 1, target: 2}, 1, "~1s + =1.333333333"}, script{&scrapy{delay: 1, target: 2}, 1, "~4s + =.5"},
			script{&scrapy{delay: 1, target: 1}, 1, "~2s + =.5"}, script{&scrapy{delay: 1, target: 4}, 1, "~2s + =1.333333333"}, script{&scrapy{delay: 0.5, target: 2}, 1, "~2s + =1"},
			script{&scrapy{delay: 2, target: 2}, 1, "~2s + =.666666667"}, script{&scrapy{delay: 1, target: 2}, 1, "~2s - =1"}, script{&scrapy{delay: 1, target: 2}, 1, "~1s - =1"},
			script{&scrapy{delay: 1, target: 2}, 1, "~4s - =.5"},
		), scripts(script{newScrapy(none), 1, "~1s + =.333333333"}, script{newScrapy(none), 1, "~1h + =.016666667"})},
		{"inspect", "UKGovernmentBEIS/inspect_ai", "499e615", "tests/util/test_adaptive_concurrency.py", "MIT", scripts(
			script{newInspect(none), 10, "+10 =20 +20 =40 +40 =80"}, script{newInspect(none), 2, "+2 =2 +2 =4"}, script{newInspect(none), 10, "/5 +10 =10"},
			script{newInspect(none), 10, "/8 +10 =20"}, script{newInspect(none), 40, "-6 =30 @15s +30 =35 - =25"}, script{newInspect(none), 10, "- =8"},
			script{newInspect(none), 100, "- =80 @14.999999999s +200 - =80 @15s +79 =80 + =85"},
		), scripts(
			script{newInspect(none), 10, "/7 +10 =10"}, script{newInspect(none), 18, "- =10"}, script{newInspect(none), 1, "- =1"}, script{&inspect{refused: true}, 8, "+8 =9"},
			script{&inspect{refused: true}, 105, "+105 =110 +110 =120"}, script{&inspect{refused: true}, 230, "+230 =245"},
		)},
		{"aibrix", "vllm-project/aibrix", "e3e10f9", "python/aibrix/tests/batch/test_concurrency_controller.py", "Apache-2.0", scripts( // its last one in rounds of two
			script{up(newAibrix(none), 128), 128, "- +127 =128"}, script{newAibrix(none), 128, "-128 =115 -115 =103"},
			script{up(newAibrix(none), 128), 128, "-16 +112 =115 +7 =115 + =116 +96 =128"}, script{newAibrix(none), 4, "+7 =4 + =5 +8 =7"},
		), scripts(
			script{newAibrix(none), 40, "-3 +37 =99"}, script{newAibrix(none), 40, "-4 +36 =89"}, script{newAibrix(none), 4, "- +7 =4"}, script{newAibrix(none), 4, "-2 +5 =4 + =3"}, script{newAibrix(none), 1, "-8 =1"},
		)},
		{"dialogue", "palantir/dialogue", "6291a1d", "CautiousIncreaseAggressiveDecreaseConcurrencyLimiterTest.java", "Apache-2.0", scripts(
			script{newDialogue(none), 20, "/1 + ? =20 /19 + =20.05"}, script{newDialogue(none), 20, "+ =20.05"}, script{newDialogue(none), 20, "- =18"},
		), scripts(script{newDialogue(none), 20, "/17 + =20 /18 + =20.05"}, script{newDialogue(none), 1, "- =1"})},
		{"azcopy", "Azure/azure-storage-azcopy", "595529d", "ste/zt_concurrencyTuner_test.go", "MIT", azCopyTheirs, scripts( // it measures every other 4 s
			script{&azCopy{most: 60, factor: 4, next: azCopyInterval}, 4, "@4s + =4 @7s +2 =4 @8s + =16 @12s + @15s +4 =16 @16s + =60 @20s + @23s +7 @24s + =60 @28s + =60"},
			script{&azCopy{most: 60, factor: 4, next: azCopyInterval}, 4, "@4s + =4 @7s +2 =4 @8s + =16 @12s + @15s +3 =16 @16s + =4 @20s + =4 @24s + =8"},
			script{newAzCopy(none), 4, "@4s + @8s + =16"}, script{newAzCopy(none), 200, "@4s + @8s + =800"}, script{newAzCopy(none), 1000, "@4s + @8s + =2000 @12s + @15s +99 @16s + =3000"},
		)},
		{"s3-transfer", "awslabs/aws-s3-transfer-manager-rs", "ce8612f", "src/scheduler/concurrency/adaptive.rs", "Apache-2.0", s3TransferTheirs, s3TransferOurs},
		{"failsafe", "failsafe-go/failsafe-go", "5759a5e", "adaptivelimiter/adaptivelimiter_test.go", "MIT", scripts( // the options for a lower bound are off by default
			script{warm(), 20, "@1m /5 ~1s + =21 @2m ~500ms + =22"}, script{warm(), 20, "@1m /10 ~2s + =19 @2m + =18"}, script{warm(), 20, "@1m /10 ~1.3s + =20 @2m + =20"}, script{warm(), 20, "@1m /10 ~1.1s + =21"},
			script{warm(), 499, "@1m /100 + =500"}, script{warm(), 999, "@1m /200 + =1000"},
		), failsafeOurs},
		{"lance", "lancedb/lance, apache/opendal", "932a10b, #8329", "rust/lance-core/src/utils/aimd.rs, layers/aimd/bucket.rs", "Apache-2.0", lanceTheirs, scripts(
			script{newLance(none), 1, "+ =2000 @999ms + =2000 @1s + =2300 @2s +10 =2600 @3s - =2900 @4s + =1450"}, script{newLance(none), 1, "! @1s + =1000 @11s + =1300"},
			script{&lance{rate: 4900, add: 300, most: 5000, window: time.Second}, 1, "+ @1s + =5000"},
		)},
		{"llm-d", "llm-d/llm-d-batch-gateway", "#394", "semaphore/aimd_test.go", "Apache-2.0", scripts(
			script{newLLMD(none), 10, "+10 =11 - =5 +5 =6"}, script{newLLMD(none), 100, "- =50 - =25 - =12"}, script{newLLMD(none), 10, "- =5 - =5"},
			script{&llmd{least: 5, most: 11, add: 1}, 10, "+10 =11 +11 =11"}, script{&llmd{least: 5, most: 100, add: 5}, 10, "+10 =15"}, script{newLLMD(none), 10, "+9 - =5 +4 =5"},
		), scripts(script{newLLMD(none), 100, "+100 =100"}, script{newLLMD(none), 20, "+9 ? +11 =21 ! =10"})},
		{"tower", "joshrotenberg/tower-resilience", "64b5226", "crates/tower-resilience-core/src/aimd.rs, adaptive/src/algorithm.rs", "MIT or Apache-2.0", scripts(
			script{newTower(none), 10, "~50ms +10 =20 - =10 +20 =30 - =15"}, script{newTower(none), 100, "- =50 - =25"}, script{newTower(none), 10, "~150ms + =5"},
			script{up(tower{add: 5, factor: .5, slow: trip}, 100), 98, "~50ms + =100"}, script{tower{add: 2, factor: .5, slow: trip}, 10, "~50ms + =12 + =14"},
		), scripts(script{newTower(none), 10, "~100ms + =11 ~100.000001ms + =5 ? =5 ! =2"}, script{newTower(none), 1, "- =1"})},
		{"zenvark", "zenvark/zenvark", "0995125", "packages/zenvark/src/adaptive-semaphore.spec.ts", "MIT", scripts( // its windows are shorter in some, its defaults are here
			script{newZenvark(none), 10, "- - =5"}, script{newZenvark(none), 8, "- =4 @10s - =2"}, script{newZenvark(none), 1, "+ =2 /2 + =2 @5s + =3"},
			script{newZenvark(none), 2, "/1 + =2"}, script{newZenvark(none), 2, "- + =1"}, script{newZenvark(none), 1, "? ! =1"},
		), scripts(
			script{newZenvark(none), 9, "- =4 @9.999999999s - =4 @10s - =2 @14.999999999s + =2 @15s + =3 @19.999999999s + =3 @20s + =4"}, script{newZenvark(none), 1, "- =1"},
		)},
		{"desync", "folbricht/desync", "72e06ac", "adaptivelimit_test.go", "BSD-3-Clause", desyncTheirs, desyncOurs},
	}
}

func TestAdmissions(t *testing.T) {
	var admitted, registered []string
	for _, a := range admissions() {
		admitted = append(admitted, strings.Fields(a.laws)...)
		t.Run(a.laws+"/theirs", a.theirs)
		t.Run(a.laws+"/ours", a.ours)
	}
	for _, r := range rivals {
		registered = append(registered, r.name)
	}
	assert.ElementsMatch(t, registered, admitted)
}

// The mean window at one loss in each 1/p packets. The tables are of a model without fast convergence, which keeps the law
// below them: at 173 for 187, at 1021 for 1054.
func cubicTheirs(t *testing.T) {
	for _, x := range []struct {
		rtt    time.Duration
		period int
		want   float64
	}{
		{trip, 1e2, 12}, {trip, 1e3, 38}, {trip, 1e4, 187}, {trip, 1e5, 1054},
		{trip / 10, 1e2, 12}, {trip / 10, 1e3, 38}, {trip / 10, 1e4, 120}, {trip / 10, 1e5, 379},
	} {
		l, s, at := newCubic(none), window.State{Cwnd: 10, Ssthresh: 1}, time.Duration(0)
		n, losses, sum, rounds := 0, 0, 0.0, 0
		for ; losses < 20; at += x.rtt {
			for range int(s.Cwnd) {
				o := window.Success
				if n++; n%x.period == 0 {
					o, losses = window.Overload, losses+1
				}
				s = l.Answered(at, s, window.End{Outcome: o, Flying: int(s.Cwnd), RTT: x.rtt})
			}
			if losses >= 10 {
				sum, rounds = sum+s.Cwnd, rounds+1
			}
		}
		assert.InEpsilon(t, x.want, sum/float64(rounds), 0.08, x)
	}
}

// The averages of Netflix, and the limits of the port, which has no tolerance and forgets faster. Netflix has no test of the
// limit.
func gradient2Theirs(t *testing.T) {
	mean := average{window: 100}
	for i := range 10 {
		assert.InDelta(t, 10+float64(i)/2, mean.add(float64(10+i)), 1e-9)
	}
	assert.InDelta(t, 16.2, mean.add(100), 0.01)

	l, limit := &gradient2{tolerance: 1, decay: 0.9, long: average{window: 100}}, 50.0
	add := func(rtt float64, flying, want int) {
		limit = min(max(l.limit(limit, rtt, flying), 4), 1000)
		if want > 0 {
			assert.Equal(t, want, int(limit))
		}
	}
	add(10, 1, 50)
	for i := range 25 {
		add(10*float64(i), i, 50)
	}
	add(2500, 25, 45)
	add(10, 5, 45)
	for i := range 100 {
		add(1000, i, 0)
	}
	add(1, 1, 21)
	for range 99 {
		add(1, 1, 21)
	}
}

// The defaults of Netflix's builders: 20 + 0.2 * 4 once a second; at 1.5 times the long mean the limit grows, beyond
// that it falls. Ten answers of at least 100 us make a second count, the first of which ends at once.
func gradient2Ours(t *testing.T) {
	script{newGradient2(none), 20, "@1ns +10 @1.000000001s +10 =20 @1.000000002s + =20.8 @2.000000002s -10 @2.000000003s ~99.999us + =20.8 ~100us - =21.6"}.run(t)
	script{newGradient2(none), 20, "@1ns + @1s +8 @1.1s + =20 @2s +9 @2.100000001s + =20.8"}.run(t)
	for rtt, want := range map[float64]struct{ limit, long float64 }{
		0.15: {20.8, 0.100166}, 0.3: {18.813, 0.100666}, 0.06: {20.8, 0.099867}, 0.04: {20.8, 0.95 * 0.0998},
	} {
		g := newGradient2(none).(*gradient2)
		g.long.n, g.long.value = averageWarm, 0.1
		assert.InDelta(t, want.limit, g.limit(20, rtt, 20), 0.001)
		assert.InDelta(t, want.long, g.long.value, 1e-5)
	}
}

// Limits and the speeds there: seven of nine tables. The others hold what a benchmark does: to go up at a speed that no
// longer grows, and to stay there if there were retries.
func azCopyTheirs(t *testing.T) {
	for _, x := range []struct {
		most  float64
		steps [][2]float64
	}{
		{1e9, [][2]float64{{4, 40}, {16, 100}, {64, 100}, {16, 100}, {32, 100}, {16, 100}, {19, 100}, {16, 100}, {16, 100}}},
		{1e9, [][2]float64{{4, 10}, {16, 11}, {4, 10}, {8, 11}, {4, 10}, {5, 10}, {4, 10}, {4, 10}}},
		{1e9, [][2]float64{{4, 400}, {16, 1000}, {64, 6000}, {256, 20000}, {512, 20000}, {256, 20000}, {307, 20000}, {256, 20000}, {256, 20000}}},
		{100, [][2]float64{{4, 400}, {16, 1000}, {64, 4000}, {100, 8000}, {100, 8000}}},
		{1e9, [][2]float64{{4, 200}, {16, 800}, {64, 2000}, {256, 10000}, {512, 17500}, {1024, 20000}, {512, 17500}, {614, 18500}, {737, 19500}, {884, 19550}, {737, 19500}, {737, 19500}}},
		{1e9, [][2]float64{{4, 2000}, {16, 8000}, {64, 11500}, {16, 115000}}},
	} {
		z, limit := &azCopy{most: x.most, factor: 4}, x.steps[0][0]
		for i, step := range x.steps {
			assert.InDelta(t, step[0], math.Floor(limit), 0, "%v %d", x, i)
			limit = z.tune(limit, step[1])
		}
	}
	z := &azCopy{most: 60, factor: 2, before: 3.3, wanted: 1}
	assert.InDelta(t, 4.125, z.tune(z.tune(6, 1), 1), 1e-9, "the first factor of 1.2 and so on that brings one more")
}

// Goodputs, all with the accepted limit in flight, the phase and the verdicts in a row after them, and the limits.
func s3TransferTheirs(t *testing.T) {
	flat := func(n int, v float64, more ...float64) []float64 {
		return append(slices.Repeat([]float64{v}, n), more...)
	}
	for _, x := range []struct {
		goodputs        []float64
		phase, same     int
		accepted, limit float64
	}{
		{flat(1, 1000), s3Start, 0, 32, 64}, {flat(1, 1000, 1200), s3Start, 0, 64, 96},
		{flat(1, 1000, 1050, 1050, 1050), s3Start, 3, 32, 64}, {flat(1, 1000, 1050, 1050, 1050, 1050), s3Probing, 0, 32, 33},
		{flat(6, 1000, 1030), s3Probing, 0, 33, 34}, {flat(8, 1000), s3Probing, 2, 32, 33}, {flat(9, 1000), s3Shedding, 0, 32, 33},
		{flat(9, 1000, 985), s3Shedding, 1, 33, 31}, {flat(9, 1000, 900), s3Probing, 0, 32, 33},
		{flat(5, 1000, 5000, 5000, 5000, 5000, 4000), s3Probing, 0, 32, 33},
	} {
		l, limit := newS3Transfer(none).(*s3Transfer), 0.0
		for _, g := range x.goodputs {
			limit = l.evaluate(g, int(l.accepted))
		}
		assert.Equal(t, []float64{float64(x.phase), float64(x.same), x.accepted, x.limit}, []float64{float64(l.phase), float64(l.same), l.accepted, limit}, x)
	}
	l := newS3Transfer(none).(*s3Transfer)
	for range 6 {
		l.evaluate(1000, 32)
	}
	assert.Equal(t, 33.0, l.evaluate(5000, 5))
	assert.Equal(t, 32.0, l.accepted, "a probe that was not used does not count")
	for range 20 {
		l.evaluate(1000, int(l.accepted))
	}
	assert.LessOrEqual(t, l.accepted, 37.0, "flat goodput")
	l = newS3Transfer(none).(*s3Transfer)
	script{l, 32, "-"}.run(t)
	assert.Equal(t, s3Shedding, l.phase, "at once")
}

// The intervals of .3 s and of .5 s, the best of four and of ten, and the bounds of a probe.
func s3TransferOurs(t *testing.T) {
	script{newS3Transfer(none), 32, "@.299s +29 =32 @.3s + =64 @.599s +34 @.6s + =96 @.9s + =96 @1.2s + =96 @1.5s + =96 @1.8s + =66 @2.299s +9 =66 @2.3s + =66" +
		" @2.799s +19 @2.8s + =68"}.run(t)
	script{newS3Transfer(none), 32, "- @.499s + =32 @.5s + =32"}.run(t)
	script{&s3Transfer{phase: s3Shedding, accepted: 32, probing: 31, raw: []float64{100, 1, 1, 1}, recent: []float64{100}}, 32, "@.499s + =32 @.5s + =33"}.run(t)
	script{&s3Transfer{phase: s3Shedding, accepted: 32, probing: 31, raw: []float64{1, 100, 1, 1}, recent: []float64{100}}, 32, "@.5s + =29"}.run(t)
	l := &s3Transfer{phase: s3Shedding, accepted: 1000, probing: 900, recent: []float64{100}}
	assert.Equal(t, []float64{864, 812}, []float64{l.evaluate(100, 1000), l.evaluate(100, 1000)}, "4% less, then 6%")
	for accepted, want := range map[float64]float64{1: 5, 300: 500} {
		l := &s3Transfer{phase: s3Probing, accepted: accepted, probing: accepted * accepted}
		assert.Equal(t, want, l.evaluate(1, 1000))
	}
	for n, want := range map[int]float64{8: 32, 9: 33} {
		l := &s3Transfer{phase: s3Probing, accepted: 32, probing: 33, recent: append([]float64{100}, slices.Repeat([]float64{1}, n)...)}
		l.evaluate(2, 32)
		assert.Equal(t, want, l.accepted)
	}
}

// The tests of Lance's controller, and those of OpenDAL's layer after it.
func lanceTheirs(t *testing.T) {
	with := func(rate, add, most float64, every time.Duration) window.Law {
		return &lance{rate: rate, add: add, most: most, window: every}
	}
	scripts(
		script{with(100, 10, 5000, trip), 100, "@1ms + @151ms + =110"}, script{with(100, 300, 5000, trip), 100, "@1ms - @151ms + =50"},
		script{with(2, 300, 5000, trip), 2, "@1ms - @151ms - =1 @301ms + =1"}, script{with(4990, 20, 5000, trip), 4990, "@1ms + @151ms + =5000"},
		script{with(100, 50, 1e9, trip), 100, "@1ms + @151ms + @301ms + @451ms + @601ms + @751ms + =350"},
		script{with(100, 10, 5000, trip), 100, "@1ms - @151ms + @301ms + @451ms + =70"}, script{with(100, 10, 5000, 10*time.Second), 100, "-100 =100"},
		script{with(4, 2, 8, time.Second), 4, "@0s + @1s + =6 @2s + =8 @3s - =8 @4s - =4 @5s - =2 @6s - =1 @7s + =1 @107s + =3"},
	)(t)
}

// Its links: with n in flight a transfer takes rtt + (n+1)t/2, or n t if the link is full. After 200 rounds the limit has 95% of
// the best throughput, and is no more than twice what fits.
func desyncTheirs(t *testing.T) {
	scripts(script{newDesync(none), 10, "-5 +5 =5"}, script{newDesync(none), 10, "/5 ~50ms @50ms +500 =10"})(t)
	for _, x := range []struct {
		rtt, transfer time.Duration
		rounds        int
		want          float64 // of this law, ours
	}{{20 * time.Millisecond, 524 * time.Microsecond, 200, 88}, {50 * time.Millisecond, 524 * time.Microsecond, 200, 128}, {50 * time.Millisecond, 10500 * time.Microsecond, 200, 21}, {50 * time.Millisecond, 0, 20, 128}} {
		takes := func(n int) time.Duration {
			return max(x.rtt+time.Duration(n+1)*x.transfer/2, time.Duration(n)*x.transfer)
		}
		carries := func(n int) float64 { return float64(n) / takes(n).Seconds() }
		best := 0.0
		for n := range desyncMost {
			best = max(best, carries(n+1))
		}
		l, s, now := newDesync(none), window.State{Cwnd: 10}, time.Duration(0)
		for range x.rounds {
			n := int(s.Cwnd)
			now += takes(n)
			for i := range n {
				s = l.Answered(now, s, window.End{Outcome: window.Success, Flying: n - i, RTT: takes(n)})
			}
		}
		assert.GreaterOrEqual(t, carries(int(s.Cwnd)), 0.95*best, x)
		assert.Equal(t, x.want, s.Cwnd, x)
		if x.transfer > 0 {
			assert.LessOrEqual(t, s.Cwnd, math.Ceil(2*takes(10).Seconds()/x.transfer.Seconds()), x)
		}
	}
}

// A window has at least 20 answers. The limit doubles at a quarter more, and three times at less. Of ten rates the best
// counts. After 10 s the latency is measured at 10, and answers of before do not count.
func desyncOurs(t *testing.T) {
	script{newDesync(none), 10, "~100ms @100ms +19 =10 @200ms + =20"}.run(t)
	script{newDesync(none), 40, "- =20 +18 =20 - =20 - =10"}.run(t)
	script{newDesync(none), 1, "- =1"}.run(t)
	judged := func(d *desync, n int, over time.Duration, limit float64) float64 {
		d.n, d.ok, d.peak, d.took, d.failed = n, n, int(limit), float64(n)*0.1, false
		d.start = 0
		return d.judge(over, limit, int(limit))
	}
	d := &desync{ramp: true, before: 100, lowest: 0.1, rates: []float64{100}}
	assert.Equal(t, 40.0, judged(d, 124, time.Second, 20))
	assert.Equal(t, 1, d.flat)
	assert.Equal(t, 40.0, judged(d, 125, time.Second, 20))
	assert.Zero(t, d.flat)
	d.flat = 1
	assert.Equal(t, 40.0, judged(d, 125/2, time.Second, 20))
	assert.Equal(t, 25.0, judged(d, 125/2, time.Second, 20), "2 x 125 x 0.1")
	d = &desync{lowest: 0.05, rates: []float64{300, 1, 1, 1, 1, 1, 1, 1, 1, 1}}
	assert.Equal(t, 10.0, judged(d, 100, time.Second, 20), "the rate of 300 is the eleventh")
	d = &desync{lowest: 0.05, rates: []float64{300, 1, 1, 1, 1, 1, 1, 1, 1}}
	assert.Equal(t, 30.0, judged(d, 100, 9999*time.Millisecond, 20))
	assert.Equal(t, 10.0, judged(d, 100, 10*time.Second, 20))
	assert.Equal(t, 19, d.stale)
	script{d, 10, "+19 =10"}.run(t)
	assert.Zero(t, d.stale)
}

// Of 50 answers the 45th counts, once a second, or in twice the shortest round trip to 30 s; of five seconds the median, and
// then the mean. A full limit falls if throughput falls with the number in flight, or hardly grows while answers get slower.
func failsafeOurs(t *testing.T) {
	l := newFailsafe(none).(*failsafe)
	for i := range 50 {
		assert.Zero(t, l.recent.n)
		l.Answered(1, window.State{}, window.End{Outcome: window.Timeout})
		l.Answered(1, window.State{}, window.End{Outcome: window.Overload, RTT: time.Duration(i+1) * time.Millisecond})
	}
	assert.InDelta(t, 0.045, l.recent.value, 1e-9)
	for _, words := range []string{"+50 =21 @1.000000001s +51 =21 @1.000000002s", "~1s +50 =21 @2.000000001s +51 =21 @2.000000002s", "~1m +50 =21 @30.000000001s +51 =21 @30.000000002s"} {
		script{newFailsafe(none), 20, "@1ns /20 " + words + " + =22"}.run(t)
	}
	l = warm().(*failsafe)
	script{l, 20, "@1m ~100ms + @2m ~300ms + @3m ~200ms + @4m + @5m ~250ms + @6m ~1s +"}.run(t)
	assert.InDelta(t, 1.25/6, l.recent.value, 1e-9)
	l = newFailsafe(none).(*failsafe)
	for range averageWarm {
		l.recent.add(1)
		l.base.add(1)
	}
	assert.InDelta(t, 1+2.0/6, l.recent.add(2), 1e-9)
	assert.InDelta(t, 1+2.0/11, l.base.add(2), 1e-9)
	for _, x := range []struct {
		throughput func(flying float64) float64
		full       bool
		want       float64
	}{
		{func(x float64) float64 { return 30 - x }, true, 19}, {func(x float64) float64 { return 30 - x }, false, 21},
		{func(x float64) float64 { return 10 + 4*math.Mod(7*x, 4) }, true, 19}, {func(x float64) float64 { return 10 + x/20 }, true, 19},
		{func(x float64) float64 { return 10 + x/2 }, true, 19}, {func(x float64) float64 { return 10 + 0.2*x + 8*math.Mod(x, 2) }, true, 19},
		{func(x float64) float64 { return 10 + 0.4*x + 8*math.Mod(x, 2) }, true, 21}, {func(x float64) float64 { return 40 - 38*math.Mod(x, 2) }, true, 21}, {math.Sqrt, true, 21}, {func(x float64) float64 { return x }, true, 21},
	} {
		rtt := 20 / x.throughput(20)
		f := &failsafe{most: 20, base: average{window: 10, n: averageWarm, value: rtt}}
		for i := range 60 {
			flying := float64(1 + (i+1)%20)
			f.flying, f.passed, f.took = append(f.flying, flying), append(f.passed, x.throughput(flying)), append(f.took, flying/x.throughput(flying))
		}
		assert.Equal(t, x.want, f.update(20, rtt, x.full), x.want)
		assert.Len(t, f.flying, 50)
	}
	for from, want := range map[float64]float64{0: 1, 200: 1, 400: 0} { // deviations of .5, .014 and .007
		var v, w []float64
		for i := range 10 {
			r, _ := correlation(v, v)
			assert.Zero(t, r)
			v, w = append(v, from+float64(i+1)), append(w, float64(i+1))
		}
		r, spread := correlation(w, v)
		assert.InDelta(t, want, r, 1e-9)
		assert.InDelta(t, math.Sqrt(8.25)/(from+5.5), spread, 1e-9)
		r, _ = correlation(v, w)
		assert.InDelta(t, want, r, 1e-9)
	}
}

// All of them finish a job.
func TestRivalsFinish(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: trip, Slots: 30, Refusal: sim.Refusal{Time: trip / 10}},
		Clients: sim.Clients{Operations: 2000},
	}
	for _, x := range rivals {
		r, err := sim.Run(s, sim.Strategy{Name: x.name, Window: sim.Window{NewLaw: laws()[x.name]}}, 1)
		require.NoError(t, err)
		assert.Equal(t, 2000, r.Done, x.name)
	}
}
