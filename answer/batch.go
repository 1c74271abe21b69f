package answer

import "time"

// fails ends a document, and reports whether it is an error.
func (s *success) fails() bool {
	if !s.notOK && s.note != "" && s.keys == 1 { // Alpha Vantage
		s.failed = true
		s.says(s.note)
	}
	s.failed = s.failed || s.notOK || s.explained
	_, number := number(s.status)
	resource := s.id && !s.rpc && s.status != "" && !number
	if s.failed = s.failed && (s.event || !s.full && !resource); s.failed && s.status != "" {
		s.code(s.status)
	}
	return s.failed
}

// end ends the document that is the whole answer.
func (s *success) end() {
	switch failed := s.fails(); {
	case failed && s.errors && s.data && !s.event: // a field of GraphQL
		if s.heard(); s.part() {
			s.items, s.refused = 1, 1
		}
	case failed:
		s.Begun, s.listed = true, s.errors
		if missing := s.costs.asked - s.costs.left; missing > 0 && s.costs.rate > 0 && s.Wait == 0 {
			s.Wait = bounded(time.Duration(missing / s.costs.rate * float64(time.Second)))
		}
		s.begun()
	}
}

// mostJudged is the number of errors of a list of documents that are judged. Our choice: what comes first tells.
const mostJudged = 8

func (s *success) of() {
	s.items++
	if s.fails() {
		if s.heard(); s.part() {
			s.refused++
		}
		if s.batch++; s.batch == mostJudged {
			s.at = len(s.from)
		}
	}
	s.facts = facts{}
	s.Codes, s.reader.text, s.Text = s.Codes[:0], s.reader.text[:0], ""
}

// part reports whether the document at hand refuses for load.
func (s *success) part() bool {
	a := Answer{Status: 200, Codes: s.Codes, Text: s.Text, Begun: true, listed: s.errors}
	if status := a.within(); status > 0 {
		a.Status = status
	}
	return a.judge(longest).refuses()
}

// sum adds up the lists of a batch, and the quota that the document tells of.
func (s *success) sum() {
	for list, t := range s.tally {
		if list == bulk && s.flagged || list == responses || list == records && s.counted || list == entries || list == leftovers {
			s.items += t.items
			s.refused += t.refused
		}
	}
	if c := s.costs; c.limit > 0 && c.rate != 0 {
		q := Quota{Name: "graphql", Limit: c.limit, Left: c.left, Amounts: true, Bucket: c.rate > 0, Reset: bounded(time.Duration(-c.rate * float64(time.Second)))}
		if q.Bucket {
			q.Reset = bounded(time.Duration((c.limit - c.left) / c.rate * float64(time.Second)))
		}
		s.spoken = q
	}
}
