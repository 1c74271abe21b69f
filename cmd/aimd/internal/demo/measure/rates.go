package measure

import "time"

// Rate is how many requests per second were answered between two moments.
type Rate struct {
	From, To          time.Duration
	Accepted, Refused float64
}

// Rates turns the totals of the samples into rates over spans of about the
// given length, into one if the whole is shorter.
func Rates(samples []Sample, span time.Duration) []Rate {
	var rates []Rate
	if len(samples) == 0 {
		return nil
	}
	from := samples[0]
	for i, s := range samples[1:] {
		length := s.At - from.At
		last := i+2 == len(samples)
		switch {
		case length <= 0, length < span && !last:
			continue
		case length < span/2 && len(rates) > 0:
			// A short rest at the end would make a rate of a few requests.
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
