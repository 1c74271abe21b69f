// Package leak shows what a user cannot name, in every way that a package can.
package leak

import (
	"net/http"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/internal/sliding"
	"github.com/aimd-go/aimd/setting"
)

type Alias = sliding.Counts

type Of[T interface{ Sum(sliding.Counts) }] struct{ Value T }

type Field struct {
	Clock  clock.Clock
	Fine   *http.Client
	Error  setting.Error
	hidden sliding.Counts
}

type Promoted struct{ hidden }

type hidden struct {
	At func(map[string][]*sliding.Counts)
}

func (hidden) Method() chan sliding.Counts { return nil }

type Embedded struct{ *sliding.Counts }

type Interface interface{ Method(sliding.Counts) }

type Underlying []sliding.Counts

var Variable struct{ Seen sliding.Counts }

func Result() (time.Time, hidden) { return time.Time{}, hidden{} }

func Param(struct{ Alias }) { _ = Field{}.hidden }

func fine(sliding.Counts) {}

type unseen struct{ Seen sliding.Counts }

var _, _ = fine, unseen{}
