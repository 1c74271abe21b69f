package scenario

// Family is some of the scenarios of the laws, alike in what limits the service.
type Family struct {
	// Name is that of its figure; Title says what limits.
	Name, Title string
	// Scenarios are the names of the scenarios.
	Scenarios []string
	// Measures are the two that tell the laws apart.
	Measures [2]string
}

// cost is what most families are measured by: time, and attempts.
var cost = [2]string{"span", "attempts_per_op"}

// families are what the figures of the laws show. Sweeps, which have too many points
// for one figure, are in none, nor what has no end, as law-s6 and law-r8.
var families = []Family{
	{"law-caps", "Slots: so many requests at a time", []string{
		"law-s1", "law-s1j", "law-s2", "law-s3", "law-s9", "law-s10", "law-store-8-100ms", "law-store-32-100ms", "law-f1c500",
	}, cost},
	{"law-rates", "Rates: so many requests per second", []string{"law-s4", "law-s4b", "law-r1", "law-r2", "law-r3", "law-r4"}, cost},
	{"law-latency", "Latency: services that slow down and hardly refuse", []string{"law-s5", "law-s5c", "law-s5b"}, cost},
	{"law-outages", "Outages of a minute", []string{"law-s7a", "law-s7b"}, [2]string{"outage_sent", "regain_s"}},
	{"law-fleets", "Fleets: many clients that know nothing of each other", []string{
		"law-r6", "law-f10c50", "law-f100c50", "law-f100c5", "law-f300c20", "law-f1000c5", "law-f1000c50",
	}, cost},
	{"law-uplink", "Uplinks: past a few at a time nothing is gained", []string{"law-k1", "law-k2", "law-k3"}, [2]string{"peak_in_flight", "first_send_p99_s"}},
}

// Families are the families of the laws' scenarios, in the order in which to show them.
func Families() []Family { return families }
