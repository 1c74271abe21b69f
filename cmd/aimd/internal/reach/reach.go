// Package reach finds out early whether a service can be reached, and says in one line why
// not.
package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

// S3 is the configuration for a store at the endpoint, or for AWS if it is "". It finds
// credentials, profile and region as the AWS tools do. Its error says in one line which
// setting is missing.
func S3(parent context.Context, endpoint string, within time.Duration, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	ctx, cancel := context.WithTimeout(parent, within)
	defer cancel()
	options = append(options, config.WithLogger(logging.Nop{}))
	if endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint), config.WithDefaultRegion("us-east-1"))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("reading the AWS environment: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errors.New("no AWS region found; set AWS_REGION or the profile's region, or give --endpoint")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, fmt.Errorf("%s: no AWS credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w",
			Where(endpoint), Innermost(err))
	}
	return cfg, parent.Err()
}

// Where is the endpoint as users know it; "" is AWS.
func Where(endpoint string) string {
	if endpoint == "" {
		return "AWS"
	}
	return "--endpoint " + endpoint
}

// Explain is an error in one line for an attempt that failed within the time.
func Explain(where string, within time.Duration, err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	status := Status(err)
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("%s: no such host: %w", where, dns)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s: nobody answers there: %w", where, op)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &plain):
		return fmt.Errorf("%s: the server there does not speak TLS; want http:// in place of https://, or another port", where)
	case errors.As(err, &certificate):
		return fmt.Errorf("%s: its certificate is not trusted; AWS_CA_BUNDLE names a file with others: %w", where, certificate.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v: %w", where, within, Innermost(err))
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("%s: the credentials are not accepted: %w", where, Innermost(err))
	}
	return fmt.Errorf("%s: %w", where, err)
}

// Status is the status of the answer in the error, 0 if there was no answer.
func Status(err error) int {
	var s interface{ HTTPStatusCode() int }
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// Code is the store's word for the error, "" if there was no answer.
func Code(err error) string {
	var e interface{ ErrorCode() string }
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

// Innermost is the first cause of the error, without the words that the SDK puts around it.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[0]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}
