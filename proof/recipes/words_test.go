package recipes

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/verdict"
)

func ownWords(err error) verdict.Verdict {
	var e *httplimit.StatusError
	if errors.As(err, &e) && bytes.Contains(e.Body, []byte("come back tomorrow")) {
		return verdict.Verdict{Meaning: answer.Refused, Wait: e.RetryAfter()}
	}
	return verdict.Verdict{}
}

// A service says "later" in words of its own, with a status that means something else.
func TestAServiceThatAnswersInItsOwnWay(t *testing.T) {
	refused := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refused++; refused < 3 {
			http.Error(w, "come back tomorrow", http.StatusTeapot)
		}
	}))
	defer s.Close()
	lim, err := aimd.New(aimd.Config{Classifier: verdict.FirstOf(ownWords, verdict.Classify)})
	require.NoError(t, err)
	require.NoError(t, lim.Do(t.Context(), func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			return err
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			return err
		}
		return httplimit.Check(resp)
	}))
	require.EqualValues(t, 2, lim.Snapshot().Overloads)
}
