package recipes

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-github/v84/github"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

func gitHub() (*github.Client, error) {
	lim, err := aimd.New()
	if err != nil {
		return nil, err
	}
	return github.NewClient(httplimit.Client(lim)), nil
}

// A secondary limit is a 403 with a Retry-After.
func TestGitHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t,
			answer{403, map[string]string{"Retry-After": "60"}, `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`},
			answer{200, nil, `{"full_name":"aimd-go/aimd"}`})
		kept := http.DefaultTransport
		http.DefaultTransport = tr
		defer func() { http.DefaultTransport = kept }()
		client, err := gitHub()
		require.NoError(t, err)
		client.BaseURL = &url.URL{Scheme: "http", Host: "service.example", Path: "/"}
		start := time.Now()
		repository, _, err := client.Repositories.Get(t.Context(), "aimd-go", "aimd")
		require.NoError(t, err)
		require.Equal(t, "aimd-go/aimd", repository.GetFullName())
		require.Equal(t, 2, *calls)
		require.GreaterOrEqual(t, time.Since(start), time.Minute)
	})
}
