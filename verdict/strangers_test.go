package verdict_test

import (
	"errors"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// grpcNames are the codes of gRPC.
var grpcNames = strings.Fields("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED " +
	"RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED")

// meant is a meaning as a file of answer/testdata has it.
var meant = map[string]verdict.Verdict{
	"unclear": unclear, "fault": refused, "final": final, "passing": again, "slow": timeout, "refused": overload, "guessed": guessed,
	"spent": spent, "closed": closed, "hurt": {Meaning: answer.Hurt},
}

// strange is the error of a row: an SDK's code, gRPC's status, a reply of mail, or a SQLSTATE.
func strangeError(t *testing.T, kind, code, message string, wait time.Duration) error {
	t.Helper()
	switch kind {
	case "sdk":
		if code == "" && wait == 0 {
			return errors.New(message)
		}
		status, name, ok := strings.Cut(code, " ")
		n, err := strconv.Atoi(status)
		if !ok || err != nil {
			n, name = 0, code
		}
		return &sdkFailure{Code: name, Message: message, StatusCode: n, RetryAfter: wait}
	case "grpc":
		for i, name := range grpcNames {
			if name == code {
				return told{largeError{grpcError{grpcCode(i)}, message}, wait}
			}
		}
	case "mail":
		n, err := strconv.Atoi(code)
		require.NoError(t, err)
		return &textproto.Error{Code: n, Msg: message}
	case "sql":
		if n, err := strconv.Atoi(code); err == nil && len(code) == 4 {
			return &mysqlError{Number: uint16(n), Message: message}
		}
		return sqlError(code)
	}
	require.Fail(t, "no such kind", "%s %s", kind, code)
	return nil
}

type sdkFailure struct {
	Code, Message string
	StatusCode    int
	RetryAfter    time.Duration
}

func (*sdkFailure) Error() string { return "any" }

// told is an error with a wait.
type told struct {
	largeError
	wait time.Duration
}

func (e told) RetryAfter() time.Duration { return e.wait }

// The codes of answer/testdata/codes.txt: what comes without an answer of HTTP.
func TestCodesOfStrangers(t *testing.T) {
	text, err := os.ReadFile("../answer/testdata/codes.txt")
	require.NoError(t, err)
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		part := strings.Split(line, "\t")
		require.Len(t, part, 5, line)
		meaning, asked, _ := strings.Cut(part[0], " ")
		wait, _ := time.ParseDuration(asked)
		want, known := meant[meaning]
		require.True(t, known, line)
		got := verdict.Classify(strangeError(t, part[1], part[2], part[3], wait))
		if got == unknown { // final, or an error of the program's own
			got = final
			if meaning == "unclear" {
				got = unclear
			}
		}
		got.Wait = 0
		assert.Equal(t, want, got, line)
		rows++
	}
	assert.GreaterOrEqual(t, rows, 250)
}
