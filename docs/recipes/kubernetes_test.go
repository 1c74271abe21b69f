package recipes

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

func limitKubernetes(config *rest.Config, lim *aimd.Limiter) {
	config.QPS = -1 // the limiter paces
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return httplimit.New(base, lim) })
}

// An API server that sheds load answers 429 with a Retry-After, and client-go retries.
func TestKubernetes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(t,
			answer{429, map[string]string{"Retry-After": "1"}, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`},
			answer{200, nil, `{"major":"1"}`})
		lim := newLimiter(t)
		config := &rest.Config{Host: "http://service.example", Transport: tr}
		config.GroupVersion = &schema.GroupVersion{Version: "v1"}
		config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
		limitKubernetes(config, lim)
		client, err := rest.RESTClientFor(config)
		require.NoError(t, err)
		start := time.Now()
		got, err := client.Get().AbsPath("/version").DoRaw(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `{"major":"1"}`, string(got))
		require.Equal(t, 2, *calls)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
		require.EqualValues(t, 1, lim.Snapshot().Successes)
	})
}
