package measure

import "time"

// Rate is how many requests per second were answered between two moments.
type Rate struct {
	From, To          time.Duration
	Accepted, Refused float64
}

// Rates turns the totals of the samples into rates over spans of about the
// given length.
func Rates(samples []Sample, span time.Duration) []Rate {
	var rates []Rate
	if len(samples) == 0 {
		return nil
	}
	from := samples[0]
	for i, s := range samples[1:] {
		length := s.At - from.At
		// A short rest at the end would make a rate of a few requests.
		last := i+2 == len(samples)
		if length < span && !last || length < span/2 || length <= 0 {
			continue
		}
		rates = append(rates, Rate{
			From:     from.At,
			To:       s.At,
			Accepted: float64(s.Accepted-from.Accepted) / length.Seconds(),
			Refused:  float64(s.Refused-from.Refused) / length.Seconds(),
		})
		from = s
	}
	return rates
}
