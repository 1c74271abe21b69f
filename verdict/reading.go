package verdict

import (
	"context"
	"net"
)

// Reading is what the error of an attempt says of the attempt's way. Read makes it, once for each attempt.
type Reading struct {
	// Unsent: the request was not sent. Unreached: the service was not reached. Unanswered: no answer came.
	Unsent, Unreached, Unanswered bool
	// OfContext: the error is a context's. Forgotten: the service's name was not found.
	OfContext, Forgotten bool

	tree *tree
}

// Read reads an error, which may be nil.
func Read(err error) Reading {
	f := walk(err)
	if err == nil {
		return Reading{tree: f}
	}
	name, unknown := first[*net.DNSError](f)
	return Reading{
		tree: f, Unsent: f.unsent(), Unreached: f.unreached(), Unanswered: f.unanswered(),
		OfContext: f.isAny(context.Canceled, context.DeadlineExceeded), Forgotten: unknown && name.IsNotFound,
	}
}

// By is the verdict of the classifier, nil for Classify, with the reason that its meaning has.
func (r Reading) By(c Classifier) Verdict {
	if c == nil {
		return Classify(r.tree).reasoned()
	}
	return c(r.tree.Unwrap()).reasoned()
}
