package recipes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/IBM/sarama"
	"github.com/bwmarrin/discordgo"
	"github.com/digitalocean/godo"
	"github.com/go-sql-driver/mysql"
	"github.com/googleapis/gax-go/v2/apierror"
	"github.com/redis/go-redis/v9"
	sashabaranov "github.com/sashabaranov/go-openai"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85"
	twilio "github.com/twilio/twilio-go/client"
	"github.com/twmb/franz-go/pkg/kerr"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"google.golang.org/api/googleapi"
	"google.golang.org/genai"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/verdict"
)

const service = "http://service.example/"

var (
	refused = verdict.Verdict{Meaning: answer.Refused}
	again   = verdict.Verdict{Meaning: answer.Passing}
	unknown = verdict.Verdict{}
)

// What verdict.Classify says of the error that an SDK makes from an answer, its own retries turned off, is what it says
// of the answer itself.
func TestTheErrorsOfSDKs(t *testing.T) {
	for name, call := range map[string]func(context.Context, *http.Client) error{
		"azure_blob_503_server_busy":     azureCall,
		"bigquery_503_backend_error":     gaxCall,
		"digitalocean_429_api_rate":      godoCall,
		"discord_429_body_only":          discordCall,
		"gemini_429_retry_info":          genaiCall,
		"gitlab_429_json":                gitlabCall,
		"google_403_rate_limit_exceeded": googleCall,
		"google_429_rate_of_requests":    googleCall,
		"openai_429_insufficient_quota":  goOpenAICall,
		"openai_429_requests_per_day":    openAICall,
		"openai_429_should_not_retry":    openAICall,
		"slack_429_empty":                slackCall,
		"stripe_429_lock_timeout":        stripeCall,
		"twilio_429_too_many_requests":   twilioCall,
	} {
		t.Run(name, func(t *testing.T) {
			tr, calls := serve(captured(t, name))
			plain, err := (&http.Client{Transport: tr}).Get(service)
			require.NoError(t, err)
			want := verdict.Classify(httplimit.Check(plain))
			require.NotEqual(t, verdict.Verdict{}, want)
			err = call(t.Context(), &http.Client{Transport: tr})
			require.Equal(t, 2, *calls, "%v", err)
			assert.Equal(t, want, verdict.Classify(err), "%T: %v", err, err)
		})
	}
}

// Errors of other protocols, as their modules make them.
func TestTheErrorsOfOtherProtocols(t *testing.T) {
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{mysqlRefuses(t), refused},
		{&mysql.MySQLError{Number: 1213, SQLState: [5]byte{'4', '0', '0', '0', '1'}, Message: "Deadlock found when trying to get lock"}, again},
		{kerr.LeaderNotAvailable, again},
		{kerr.ThrottlingQuotaExceeded, refused},
	} {
		require.Error(t, c.err)
		assert.Equal(t, c.want, verdict.Classify(c.err), "%T: %v", c.err, c.err)
	}
}

// must is for a client that is made with the right settings.
func must[T any](client T, err error) T {
	if err != nil {
		panic(err)
	}
	return client
}

func azureCall(ctx context.Context, client *http.Client) error {
	_, err := must(azblob.NewClientWithNoCredential(service, &azblob.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: client, Retry: azpolicy.RetryOptions{MaxRetries: -1},
	}})).DeleteBlob(ctx, "container", "blob", nil)
	return err
}

func gitlabCall(ctx context.Context, client *http.Client) error {
	c := must(gitlab.NewClient("token", gitlab.WithBaseURL(service), gitlab.WithHTTPClient(client), gitlab.WithoutRetries()))
	_, _, err := c.Version.GetVersion(gitlab.WithContext(ctx))
	return err
}

func godoCall(ctx context.Context, client *http.Client) error {
	_, _, err := must(godo.New(client, godo.SetBaseURL(service))).Account.Get(ctx)
	return err
}

// googleCall makes the error as all clients of google.golang.org/api do.
func googleCall(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, service, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return googleapi.CheckResponse(resp)
}

// gaxCall makes the error as the clients of cloud.google.com/go do over REST.
func gaxCall(ctx context.Context, client *http.Client) error {
	err, _ := apierror.FromError(googleCall(ctx, client))
	return err
}

func genaiCall(ctx context.Context, client *http.Client) error {
	c := must(genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: service},
	}))
	_, err := c.Models.GenerateContent(ctx, "any", genai.Text("hello"), nil)
	return err
}

func stripeCall(ctx context.Context, client *http.Client) error {
	c := stripe.NewClient("key", stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		HTTPClient: client, URL: stripe.String(service), MaxNetworkRetries: stripe.Int64(0), LeveledLogger: &stripe.LeveledLogger{},
	})))
	_, err := c.V1Customers.Retrieve(ctx, "cus_1", nil)
	return err
}

func twilioCall(_ context.Context, client *http.Client) error {
	c := twilio.Client{Credentials: twilio.NewCredentials("user", "secret"), HTTPClient: client}
	_, err := c.SendRequest(http.MethodGet, service, nil, nil)
	return err
}

func slackCall(ctx context.Context, client *http.Client) error {
	_, err := slack.New("token", slack.OptionHTTPClient(client), slack.OptionAPIURL(service)).AuthTestContext(ctx)
	return err
}

func goOpenAICall(ctx context.Context, client *http.Client) error {
	config := sashabaranov.DefaultConfig("key")
	config.BaseURL, config.HTTPClient = service, client
	_, err := sashabaranov.NewClientWithConfig(config).CreateChatCompletion(ctx, sashabaranov.ChatCompletionRequest{Model: "any"})
	return err
}

func discordCall(ctx context.Context, client *http.Client) error {
	c := must(discordgo.New("Bot token"))
	c.Client = client
	_, err := c.Request(http.MethodGet, service, nil, discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0))
	return err
}

// mysqlRefuses is the error of a connection to a server that has too many, without a state.
func mysqlRefuses(t *testing.T) error {
	t.Helper()
	config := mysql.NewConfig()
	config.Addr, config.Net = "service.example:3306", "tcp"
	config.DialFunc = serveConns(func(conn net.Conn) { _, _ = io.WriteString(conn, "\x17\x00\x00\x00\xff\x10\x04Too many connections") })
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	_, err = connector.Connect(t.Context())
	return err
}

// Errors that have no shape to read, and the classifiers of the recipes.
func TestTheErrorsThatNeedAClassifier(t *testing.T) {
	for name, c := range map[string]struct {
		classify verdict.Classifier
		err      error
		want     verdict.Verdict
	}{
		"mongo, no host":       {mongoErrors, mongo.CommandError{Code: 6, Name: "HostUnreachable", Labels: []string{"RetryableWriteError"}}, again},
		"mongo, a transaction": {mongoErrors, mongo.CommandError{Code: 112, Name: "WriteConflict", Labels: []string{"TransientTransactionError"}}, again},
		"sarama, no leader":    {saramaErrors, sarama.ErrLeaderNotAvailable, again},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, c.err)
			assert.Equal(t, unknown, verdict.Classify(c.err), "%T: %v: needs no recipe", c.err, c.err)
			assert.Equal(t, c.want, c.classify(c.err), "%T: %v", c.err, c.err)
		})
	}
}

// The errors of clients without codes are read by their words. What a name says is no guess.
func TestErrorsWithoutACode(t *testing.T) {
	guessed := verdict.Verdict{Meaning: answer.Guessed}
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{mongo.CommandError{Code: 462, Name: "IngressRequestRateLimitExceeded", Labels: []string{"SystemOverloadedError", "RetryableError"}}, guessed},
		{fmt.Errorf("send: %w", sarama.ErrThrottlingQuotaExceeded), guessed},
		{mongo.CommandError{Code: 10107, Name: "NotWritablePrimary", Labels: []string{"RetryableWriteError"}}, again},
		{redisSays(t, "LOADING Redis is loading the dataset in memory"), refused},
		{redisSays(t, "ERR max number of clients reached"), guessed},
		{redisSays(t, "WRONGTYPE Operation against a key holding the wrong kind of value"), unknown},
	} {
		require.Error(t, c.err)
		assert.Equal(t, c.want, verdict.Classify(c.err), "%T: %v", c.err, c.err)
	}
}

func mongoErrors(err error) verdict.Verdict {
	var labels mongo.LabeledError
	switch {
	case !errors.As(err, &labels):
	case labels.HasErrorLabel("RetryableWriteError"), labels.HasErrorLabel("TransientTransactionError"):
		return verdict.Verdict{Meaning: answer.Passing}
	}
	return verdict.Verdict{}
}

func saramaErrors(err error) verdict.Verdict {
	var code sarama.KError
	errors.As(err, &code)
	switch code {
	case sarama.ErrRequestTimedOut, sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition, sarama.ErrNotEnoughReplicas:
		return verdict.Verdict{Meaning: answer.Passing}
	}
	return verdict.Verdict{}
}

// redisSays is the error of a server that answers this.
func redisSays(t *testing.T, text string) error {
	t.Helper()
	dial := serveConns(func(conn net.Conn) {
		commands := bufio.NewScanner(conn)
		for commands.Scan() {
			if strings.HasPrefix(commands.Text(), "*") { // how many arguments follow
				go fmt.Fprintf(conn, "-%s\r\n", text)
			}
		}
	})
	c := redis.NewClient(&redis.Options{MaxRetries: -1, Dialer: dial, Protocol: 2, DisableIdentity: true})
	defer c.Close()
	return c.Get(t.Context(), "key").Err()
}
