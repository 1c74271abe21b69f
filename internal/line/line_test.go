package line_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/line"
	"github.com/aimd-go/aimd/window"
)

// names of operations, in the order in which they wait.
type (
	waiter = line.Waiter[string]
	queue  = line.Line[string]
)

// of is a window of 2 whose answers take 10 s in the mean.
var of = window.State{Cwnd: 2, Trip: 10 * time.Second}

const s = time.Second

// pushed is a line with operations that came at a time, each with so much time; 0: no deadline.
func pushed(l *queue, at, had time.Duration, names ...string) { put(l, false, at, had, names) }

func put(l *queue, urgent bool, at, had time.Duration, names []string) {
	for _, name := range names {
		w := &waiter{Value: name, Since: at, Urgent: urgent}
		if had > 0 {
			w.Deadline = at + had
		}
		l.Push(w)
	}
}

// turn is the name of the operation of the next turn, with what becomes of it. The operation leaves the line.
func turn(l *queue, now time.Duration, state window.State) string {
	w, v := l.Turn(now, state)
	switch {
	case w == nil:
		return "-"
	case v == line.Goes:
		l.Went(w)
		return w.Value
	}
	l.Remove(w)
	return map[line.Verdict]string{line.Late: "late ", line.Last: "last "}[v] + w.Value
}

func order(l *queue, now time.Duration, turns int) (names []string) {
	for range turns {
		names = append(names, turn(l, now, of))
	}
	return names
}

func TestFirstInFirstOut(t *testing.T) {
	var l queue
	pushed(&l, 0, 0, "a")
	pushed(&l, 0, 100*s, "b", "c")
	back := &waiter{Value: "back"}
	l.PutBack(back)
	require.Equal(t, 4, l.Len())
	require.Equal(t, []string{"back", "a", "b", "c", "-"}, order(&l, 0, 5))
}

// docs/design.md: "less time left than two mean round trips, or than half of its time", "but one round trip at least".
func TestLate(t *testing.T) {
	for _, c := range []struct {
		had, at time.Duration
		want    string
	}{
		{100 * s, 80 * s, "a"}, {100 * s, 80*s + 1, "late a"}, // two round trips
		{30 * s, 15 * s, "a"}, {30 * s, 15*s + 1, "late a"}, // half of the time
		{16 * s, 6 * s, "a"}, {16 * s, 6*s + 1, "late a"}, // one round trip
		{s, 0, "a"}, {s, 1, "late a"}, // it did not wait
		{0, 1000 * s, "a"},
	} {
		var l queue
		pushed(&l, 0, c.had, "a")
		require.Equal(t, c.want, turn(&l, c.at, of), "%+v", c)
	}
	var l queue
	pushed(&l, 0, 100*s, "a")
	require.Equal(t, "a", turn(&l, 100*s, window.State{Cwnd: 2}), "a law that measures no round trip")
}

// docs/design.md: "then the newest with a deadline goes first", "for eight times the time that the late one had".
func TestTheNewestGoesFirstInACrowd(t *testing.T) {
	for at, want := range map[time.Duration]string{81*s + 800*s - 1: "newest", 81*s + 800*s: "oldest"} {
		var l queue
		pushed(&l, 0, 100*s, "late")
		require.Equal(t, "late late", turn(&l, 81*s, of))
		pushed(&l, at-50*s, 200*s, "oldest", "newer", "newest")
		require.Equal(t, want, turn(&l, at, of), at)
	}
}

// What came before the end of a crowd begins no other: workers in a loop would never be first in, first out again. Nor does one
// late operation alone. docs/design.md: "The second came half of its time later or more, and is late within three times its
// time", "One is enough if those that wait need more than twice its time", "within three times it after a crowd or the start".
func TestWhichLateOperationsAreACrowd(t *testing.T) {
	next := func(first, came time.Duration, others int) string {
		var l queue
		pushed(&l, first, 100*s, "first")
		require.Equal(t, "late first", turn(&l, first+81*s, of))
		pushed(&l, came, 100*s, "second")
		pushed(&l, came+90*s, 100*s, append([]string{"oldest"}, make([]string, others)...)...)
		require.Equal(t, "late second", turn(&l, came+90*s, of))
		pushed(&l, came+90*s, 100*s, "newest")
		return turn(&l, came+90*s, of)
	}
	require.Equal(t, "oldest", next(0, 881*s-1, 40))
	require.Equal(t, "newest", next(0, 881*s, 0))
	require.Equal(t, "newest", next(0, 1091*s, 0))
	require.Equal(t, "oldest", next(0, 1091*s+1, 39))
	require.Equal(t, "newest", next(0, 1091*s+1, 40))

	require.Equal(t, "oldest", next(1000*s, 1131*s-1, 0))
	require.Equal(t, "newest", next(1000*s, 1131*s, 0))
	require.Equal(t, "newest", next(1000*s, 1341*s, 0))
	require.Equal(t, "oldest", next(1000*s, 1341*s+1, 0))
}

// docs/design.md: "Operations without a deadline, with more than the eight times, and those that come back keep their turn".
func TestWhoKeepsItsTurnInACrowd(t *testing.T) {
	for name, put := range map[string]func(*queue){
		"no deadline":      func(l *queue) { pushed(l, 90*s, 0, "a") },
		"an hour":          func(l *queue) { pushed(l, 90*s, 800*s+1, "a") },
		"it has come back": func(l *queue) { l.PutBack(&waiter{Value: "a", Since: 90 * s, Deadline: 190 * s}) },
	} {
		var l queue
		pushed(&l, 0, 100*s, "late")
		require.Equal(t, "late late", turn(&l, 81*s, of))
		put(&l)
		pushed(&l, 90*s, 800*s, "b", "c")
		require.Equal(t, []string{"a", "c", "b"}, order(&l, 90*s, 3), name)
	}
	// The one of an hour is not among the newest either.
	var l queue
	pushed(&l, 0, 100*s, "late")
	require.Equal(t, "late late", turn(&l, 81*s, of))
	pushed(&l, 90*s, 800*s, "b", "c")
	pushed(&l, 90*s, 801*s, "a")
	require.Equal(t, []string{"c", "b", "a"}, order(&l, 90*s, 3))
}

// docs/design.md: "The oldest that cannot get a turn is told at once", but not before a round trip has passed.
func TestWhoIsLastIsTold(t *testing.T) {
	for _, c := range []struct {
		waited, left time.Duration
		want         string
	}{{10 * s, 50*s - 1, "last a"}, {10 * s, 50 * s, "k"}, {10*s - 1, 50*s - 1, "k"}} {
		var l queue
		pushed(&l, 0, 100*s, "late")
		require.Equal(t, "late late", turn(&l, 81*s, of))
		pushed(&l, 200*s, c.waited+c.left, "a")
		pushed(&l, 200*s+c.waited, 100*s, "b", "c", "d", "e", "f", "g", "h", "i", "j", "k") // ten that take 10 s, two at a time
		require.Equal(t, c.want, turn(&l, 200*s+c.waited, of), "%+v", c)
	}
}

// Both are signs of a crowd: an operation whose deadline came while it waited, and an attempt cut off after a long wait.
func TestOtherSignsOfACrowd(t *testing.T) {
	var l queue
	pushed(&l, 0, 100*s, "a", "b", "c")
	l.Left(50*s, l.Front())
	require.Equal(t, "c", turn(&l, 50*s, of))

	l = queue{}
	pushed(&l, 0, 100*s, "a", "b", "c")
	l.CutOff(50*s, false, false)
	require.Equal(t, "c", turn(&l, 50*s, of))
	for at, want := range map[time.Duration]string{950*s - 1: "d", 950 * s: "e"} { // the crowd ended at 850 s, and had 100 s
		l = queue{}
		pushed(&l, 0, 100*s, "a")
		l.CutOff(50*s, false, false)
		require.Equal(t, "a", turn(&l, 50*s, of))
		pushed(&l, at, 100*s, "d", "e")
		l.CutOff(at, false, false)
		require.Equal(t, want, turn(&l, at, of))
	}

	l = queue{}
	l.CutOff(0, false, false) // nobody waits
	pushed(&l, 0, 100*s, "a", "b")
	require.Equal(t, "a", turn(&l, 0, of))
}

// docs/design.md: "A slower window counts once it has lasted for a round trip, and for a quarter of the oldest's time".
func TestASlowerWindowCountsOnceItLasts(t *testing.T) {
	for _, c := range []struct {
		had, trip, seen, at time.Duration
		first, want         string
	}{
		{40 * s, 12 * s, 15 * s, 27*s - 1, "b", "c"}, {40 * s, 12 * s, 15 * s, 27 * s, "b", "late c"},
		{80 * s, 10 * s, 50 * s, 70*s - 1, "b", "c"}, {80 * s, 10 * s, 50 * s, 70 * s, "b", "late c"},
		{40 * s, 12 * s, 39 * s, 70 * s, "late b", "d"}, // nobody waited meanwhile
	} {
		var l queue
		pushed(&l, 0, c.had, "a", "b", "c")
		require.Equal(t, "a", turn(&l, 0, window.State{Cwnd: 2, Trip: s}))
		slow := window.State{Cwnd: 2, Trip: c.trip}
		require.Equal(t, c.first, turn(&l, c.seen, slow))
		if c.want == "d" {
			require.Equal(t, "late c", turn(&l, c.seen, slow))
			pushed(&l, c.seen, c.had, "d")
		}
		require.Equal(t, c.want, turn(&l, c.at, slow), "%+v", c)
	}
}

func TestTheBoundIsForNewOnes(t *testing.T) {
	l := queue{Bound: 2}
	require.True(t, l.Push(&waiter{}))
	l.PutBack(&waiter{})
	require.False(t, l.Push(&waiter{}))
	l.PutBack(&waiter{})
	require.Equal(t, 3, l.Len())
	for w := range l.All() {
		require.True(t, l.Remove(w))
		require.False(t, l.Remove(w))
	}
	require.Zero(t, l.Len())
}

func TestPlaces(t *testing.T) {
	var l queue
	pushed(&l, 0, 0, "a", "b", "c")
	var c *waiter
	for c = range l.All() {
	}
	require.Equal(t, 3, l.Place(c))
	l.Went(l.Front())
	require.Equal(t, 2, l.Place(c))
	l.PutBack(&waiter{})
	require.Equal(t, 3, l.Place(c))
	for w := range l.All() {
		if w != c {
			l.Remove(w) // it left
		}
	}
	require.Equal(t, 1, l.Place(c))
}

// urgents are operations as those of pushed, in the lane that goes first.
func urgents(l *queue, at, had time.Duration, names ...string) { put(l, true, at, had, names) }

func TestUrgentOnesGoFirst(t *testing.T) {
	l := queue{Bound: 6}
	pushed(&l, 0, 0, "a", "b")
	urgents(&l, 0, 0, "1", "2")
	l.PutBack(&waiter{Value: "back"})
	l.PutBack(&waiter{Value: "urgent back", Urgent: true})
	require.False(t, l.Push(&waiter{Urgent: true}), "one bound for both")
	require.Equal(t, 3, l.Urgent())
	places := map[string]int{}
	for w := range l.All() {
		places[w.Value] = l.Place(w)
	}
	require.Equal(t, map[string]int{"urgent back": 1, "1": 2, "2": 3, "back": 4, "a": 5, "b": 6}, places)
	require.Equal(t, []string{"urgent back", "1"}, order(&l, 0, 2))
	l.Yields = true
	require.Equal(t, []string{"back", "a", "b", "2", "-"}, order(&l, 0, 5), "without others nobody yields")
}

// Each lane has a crowd of its own: too many calls of the one are no reason to turn the other round.
func TestACrowdInEachLane(t *testing.T) {
	var l queue
	urgents(&l, 0, 100*s, "late")
	pushed(&l, 0, 200*s, "a", "b")
	require.Equal(t, "late late", turn(&l, 81*s, of))
	urgents(&l, 90*s, 100*s, "1", "2")
	require.Equal(t, []string{"2", "1", "a", "b"}, order(&l, 90*s, 4))

	for urgent, want := range map[bool][]string{true: {"2", "1", "a", "b"}, false: {"1", "2", "b", "a"}} {
		l = queue{}
		pushed(&l, 0, 100*s, "a", "b")
		urgents(&l, 0, 100*s, "1", "2")
		l.CutOff(50*s, urgent, false)
		require.Equal(t, want, order(&l, 50*s, 4))
	}
}

// The oldest of the others has the urgent ones before it, too; the oldest urgent one has not those that wait in the other lane.
func TestWhoIsLastInEachLane(t *testing.T) {
	for want, urgent := range map[string]bool{"k": true, "last a": false} {
		var l queue
		put, others := pushed, urgents
		if urgent {
			put, others = urgents, pushed
		}
		put(&l, 0, 100*s, "late")
		require.Equal(t, "late late", turn(&l, 81*s, of))
		put(&l, 200*s, 110*s, "a")
		put(&l, 210*s, 100*s, "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")
		others(&l, 210*s, 0, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
		l.Yields = !urgent // eleven more make it 105 s for 100
		require.Equal(t, want, turn(&l, 210*s, of))
	}
}

// docs/design.md: "Aside gets all turns when nobody else waits", otherwise one in so many.
func TestAside(t *testing.T) {
	l := queue{AsideTurn: 3}
	pushed(&l, 0, 0, "a", "b", "c", "d", "e", "f")
	l.PutAside(&waiter{Value: "x"}, false)
	l.PutAside(&waiter{Value: "y"}, false)
	l.PutAside(&waiter{Value: "again"}, true)
	l.PutAside(&waiter{Value: "and again"}, true)
	require.Equal(t, 10, l.Len())
	require.Equal(t, 6, l.Flow())
	require.Equal(t, []string{"a", "b", "again", "c", "d", "and again", "e", "f", "x", "y", "-"}, order(&l, 0, 11))

	// It is not among the newest, is told when it is late, and can leave.
	pushed(&l, 0, 100*s, "late")
	require.Equal(t, "late late", turn(&l, 81*s, of))
	l.PutAside(&waiter{Value: "x", Since: 90 * s, Deadline: 290 * s}, false)
	l.PutAside(&waiter{Value: "y", Since: 90 * s, Deadline: 120 * s}, false)
	l.PutAside(&waiter{Value: "z"}, false)
	require.Equal(t, []string{"x", "late y"}, order(&l, 110*s, 2))
	for w := range l.All() {
		require.True(t, l.Remove(w))
	}
	require.Zero(t, l.Len())

	l = queue{AsideTurn: 8, Bound: 1}
	l.PutAside(&waiter{Value: "x"}, false)
	require.True(t, l.Push(&waiter{}), "the bound is of those that are not aside")
	require.False(t, l.Push(&waiter{}))
}

// silents are operations without a deadline whose callers may leave.
func silents(l *queue, at time.Duration, names ...string) {
	for _, name := range names {
		l.Push(&waiter{Value: name, Since: at, Silent: true})
	}
}

// leave lets n silent ones leave that came at a time, each after so long.
func leave(l *queue, came, after time.Duration, n int) {
	for range n {
		w := &waiter{Since: came, Silent: true}
		l.Push(w)
		l.Remove(w)
		l.Left(came+after, w)
	}
}

// docs/design.md: "once more than an eighth of the latest 16 ends were of callers who left".
func TestTheNewestOfThoseWhoDoNotSayWhenTheyLeave(t *testing.T) {
	for n, want := range map[int]string{2: "oldest", 3: "newest"} {
		var l queue
		leave(&l, 0, 10*s, n)
		silents(&l, 11*s, "oldest", "newer", "newest")
		require.Equal(t, want, turn(&l, 12*s, of), n)
	}
	var l queue // two of four ended with an answer
	leave(&l, 0, 10*s, 2)
	silents(&l, 11*s, "oldest", "newest")
	for range 16 {
		l.Ended(false)
	}
	leave(&l, 0, 10*s, 1)
	require.Equal(t, "oldest", turn(&l, 12*s, of))
}

// docs/design.md: "for eight times as long as the one waited that left", and "An operation that has waited for twice as
// long as that keeps its turn".
func TestHowLongTheNewestGoesFirst(t *testing.T) {
	for at, want := range map[time.Duration]string{90*s - 1: "newest", 90 * s: "oldest"} {
		var l queue
		leave(&l, 0, 10*s, 3)
		silents(&l, at-20*s, "oldest", "newest")
		require.Equal(t, want, turn(&l, at, of), at)
	}
	for waited, want := range map[time.Duration]string{20 * s: "newest", 20*s + 1: "oldest"} {
		var l queue
		leave(&l, 0, 10*s, 3)
		silents(&l, 15*s, "oldest")
		silents(&l, 15*s+waited, "newest")
		require.Equal(t, want, turn(&l, 15*s+waited, of), waited)
	}
}

// Nobody else loses a turn: what cannot leave, what has a deadline, and what comes back.
func TestWhoKeepsItsTurnBeforeSilentOnes(t *testing.T) {
	for name, put := range map[string]func(*queue){
		"it cannot leave":  func(l *queue) { pushed(l, 11*s, 0, "a") },
		"a deadline":       func(l *queue) { pushed(l, 11*s, 100*s, "a") },
		"it has come back": func(l *queue) { l.PutBack(&waiter{Value: "a", Since: 11 * s, Silent: true}) },
		"it is aside":      func(l *queue) { l.PutAside(&waiter{Value: "a", Since: 11 * s, Silent: true}, false) },
	} {
		l := queue{AsideTurn: 1}
		leave(&l, 0, 10*s, 3)
		put(&l)
		silents(&l, 12*s, "b", "c")
		require.Equal(t, []string{"a", "c", "b"}, order(&l, 13*s, 3), name)
	}
}

// Another sign is an attempt in flight whose caller left; the oldest has waited for as long as anybody.
func TestCallersWhoLeaveInFlight(t *testing.T) {
	var l queue
	l.CutOff(0, false, true) // nobody waits
	silents(&l, 0, "a", "b", "c")
	for range 2 {
		l.CutOff(10*s, false, true)
	}
	require.Equal(t, "a", turn(&l, 10*s, of))
	l.CutOff(10*s, false, true)
	require.Equal(t, "c", turn(&l, 10*s, of))
}
