package fleet

import (
	"math"
	"time"
)

// whole is the number of whole attempts of a share: over ten seconds it is the share, and at any time the attempts of
// all are the window.
func whole(share float64, rank, processes int, at time.Duration) float64 {
	_, turn := math.Modf(phase(rank, processes) + float64(at%rotation)/float64(rotation))
	return math.Floor(share + turn)
}

const rotation = 10 * time.Second

// phase is the place of a process in a turn, 0 to 1. Those of all are even, and those of any ranks in a row are apart.
func phase(rank, processes int) float64 {
	n := max(1, processes)
	step := int(float64(n) * (math.Phi - 1))
	for gcd(n, step) > 1 {
		step++
	}
	_, part := math.Modf(float64(rank) * float64(step) / float64(n))
	return part
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
